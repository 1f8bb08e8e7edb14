"""Maintenance and quotas of streams, and the inbox of idempotent consumers."""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables"


class Migration(migrations.Migration):
    dependencies = [("queues", "0003_read_models")]
    operations = [
        migrations.RunSQL(
            (TABLES / "stream_flags.sql").read_text(),
            "drop trigger if exists set_stream_flags on signalbox.stream;"
            "alter table signalbox.stream drop column admission_flags",
        ),
        migrations.RunSQL((TABLES / "inbox.sql").read_text(), "drop table signalbox.inbox"),
    ]
