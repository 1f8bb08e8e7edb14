"""How long messages wait and how long work on them takes: claims note the waits, the fold counts both by buckets.

A claim's delta carries the waits of what it delivered first, as an acknowledgement's row of history carries work times.
Plain storage, because a claim of a thousand would else be compressed on its way.
"""

from django.db import migrations, models

# Going back leaves them: until the scripts of that version are installed, claims go on noting waits, and none may fail.
DURATIONS = """
alter table signalbox.counter_delta add column if not exists waits_ms integer[];
alter table signalbox.counter_delta alter column waits_ms set storage plain;
alter table signalbox.queue_stat add column if not exists durations bigint[];
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0011_audit_chain")]
    operations = [
        migrations.AddField("queue", "wait_target_seconds", models.FloatField(db_default=60.0)),
        migrations.AddField("queue", "wait_target_ratio", models.FloatField(db_default=0.99)),
        migrations.RunSQL(DURATIONS, migrations.RunSQL.noop),
    ]
