"""Deduplication ids of appends.

Taking it back leaves column and table, which functions of this release read until those of an earlier one are
installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "stream_deduplication.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0020_stream_archive")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
