"""Quotas of a tenant on the number of its streams, and on their bytes.

Taking it back leaves columns and table, which functions of this release read until those of an earlier one are
installed.
"""

from pathlib import Path

from django.db import migrations, models

TABLES = Path(__file__).parent / "tables" / "stream_quotas.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0021_stream_deduplication")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(TABLES.read_text(), migrations.RunSQL.noop)],
            state_operations=[
                migrations.AddField("tenant", "max_streams", models.BigIntegerField(db_default=0)),
                migrations.AddField("tenant", "max_stream_bytes", models.BigIntegerField(db_default=0)),
            ],
        )
    ]
