"""Large bodies of messages in streams: the pointers from messages to bodies.

Taking it back leaves the table, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "stream_bodies.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0026_fair_groups")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
