"""Limits of single messages: a time after which they are not delivered, and a number of deliveries.

Taking it back leaves columns and table, which functions of this release read until those of an earlier one are
installed.
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "message_limits.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0011_fleet")]
    operations = [migrations.RunSQL(TABLES.read_text(), migrations.RunSQL.noop)]
