"""Compaction of streams: a setting, the compacted position of each partition, and the newest message of each key.

Taking it back leaves columns and table, which functions of this release use until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "stream_compaction.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0022_stream_quotas")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
