"""Captures of tables by logical replication: the slot of each, and how far it was read.

Taking it back leaves the columns, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "log_captures.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0013_wide_priorities")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
