"""Settings of a queue: the wait of a receive that names none, and the largest body.

Taking it back leaves the columns, which functions of this release read until those of an earlier one are installed.
"""

from django.db import migrations, models

COLUMNS = """
alter table signalbox.queue
  add column if not exists receive_wait_seconds double precision not null default 0,
  add column if not exists max_large_body_bytes bigint not null default 0;
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0018_stream_retention")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(COLUMNS, migrations.RunSQL.noop)],
            state_operations=[
                migrations.AddField("queue", "receive_wait_seconds", models.FloatField(db_default=0.0)),
                migrations.AddField("queue", "max_large_body_bytes", models.BigIntegerField(db_default=0)),
            ],
        )
    ]
