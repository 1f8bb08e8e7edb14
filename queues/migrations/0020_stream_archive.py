"""The archive of streams: the last archived position of each partition.

Taking it back leaves the column, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "stream_archive.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0019_queue_waits_and_bodies")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
