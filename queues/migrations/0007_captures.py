"""Captures of tables: whose changes go to which stream, and how far the rows of before are.

Taking it back leaves the tables, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "captures.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0006_queue_subscriptions")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
