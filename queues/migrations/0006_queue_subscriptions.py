"""Subscriptions of queues to queues, and the copies that could not be sent yet.

Taking it back leaves the tables, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "queue_subscriptions.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0005_deferrals")]
    operations = [migrations.RunSQL(TABLES.read_text(), migrations.RunSQL.noop)]
