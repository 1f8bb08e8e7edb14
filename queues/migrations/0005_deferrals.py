"""Deferred deliveries: their history, and how many of a message's deliveries they are.

Taking it back leaves the tables, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "deferrals.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0004_stream_flags_and_inbox")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
