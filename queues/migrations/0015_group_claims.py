"""Claims of several messages of one FIFO group: the place to which each returns.

Taking it back leaves the column, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "group_claims.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0014_log_captures")]
    operations = [migrations.RunSQL(TABLES.read_text(), migrations.RunSQL.noop)]
