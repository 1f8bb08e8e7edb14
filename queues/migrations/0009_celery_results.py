"""Tables of the result backend for Celery (queues/migrations/tables/celery_results.sql)."""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "celery_results.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0008_group_policies")]
    operations = [
        migrations.RunSQL(TABLES.read_text(), "drop table signalbox.celery_part; drop table signalbox.celery_result")
    ]
