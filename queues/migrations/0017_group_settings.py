"""Pausing of a subscription of a stream, and the delay of its messages.

Taking it back leaves the columns, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "group_settings.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0016_seek")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
