"""Captures of tables: whose changes go to which stream, and how far the rows of before are."""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "captures.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0005_queue_subscriptions")]
    operations = [migrations.RunSQL(TABLE.read_text())]
