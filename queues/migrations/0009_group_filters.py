"""Filters of consumer groups."""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables"


class Migration(migrations.Migration):
    dependencies = [("queues", "0008_group_policies")]
    operations = [
        migrations.RunSQL(
            (TABLES / "group_filters.sql").read_text(),
            "alter table signalbox.consumer_group drop column filter, drop column conditions, drop column negated;"
            "alter table signalbox.group_partition drop column skipped",
        ),
    ]
