"""A setting of a queue: share it between its message groups.

Taking it back leaves the column, which functions of this release read until those of an earlier one are installed.
"""

from django.db import migrations, models

COLUMN = "alter table signalbox.queue add column if not exists fair_groups boolean not null default false"


class Migration(migrations.Migration):
    dependencies = [("queues", "0025_beat_schedules")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(COLUMN, migrations.RunSQL.noop)],
            state_operations=[migrations.AddField("queue", "fair_groups", models.BooleanField(db_default=False))],
        )
    ]
