"""Tables of the fleet (queues/migrations/tables/fleet.sql).

Taking it back leaves the tables, which functions of this release read until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLES = Path(__file__).parent / "tables" / "fleet.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0010_celery_results")]
    operations = [migrations.RunSQL(TABLES.read_text(), migrations.RunSQL.noop)]
