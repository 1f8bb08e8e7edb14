"""A counter of the deduplicated appends of each stream.

Taking it back leaves column and sequences, which functions of this release use until those of an earlier one are
installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "stream_repeats.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0023_stream_compaction")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
