"""The schedules that processes of Celery beat report.

Taking it back leaves the table, which functions of this release use until those of an earlier one are installed.
"""

from pathlib import Path

from django.db import migrations

TABLE = Path(__file__).parent / "tables" / "beat_schedules.sql"


class Migration(migrations.Migration):
    dependencies = [("queues", "0024_stream_repeats")]
    operations = [migrations.RunSQL(TABLE.read_text(), migrations.RunSQL.noop)]
