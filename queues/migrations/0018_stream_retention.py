"""Retention of streams by bytes and by number.

Taking it back leaves the columns, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "stream_retention.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0017_group_settings")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
