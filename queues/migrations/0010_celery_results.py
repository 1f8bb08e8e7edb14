"""Tables of the result backend for Celery (queues/migrations/tables/celery_results.sql).

Taking it back leaves the tables, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "celery_results.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0009_group_filters")]
    operations = [migrations.RunSQL(TABLES.read_text(), migrations.RunSQL.noop)]
