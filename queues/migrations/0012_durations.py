"""How long messages wait and how long work on them takes: claims note the waits, the fold counts both by buckets.

A claim's delta carries the waits of what it delivered first, as an acknowledgement's row of history carries work times.
Plain storage, because a claim of a thousand would else be compressed on its way.
"""

from django.db import migrations, models

DURATIONS = """
alter table signalbox.counter_delta add column waits_ms integer[];
alter table signalbox.counter_delta alter column waits_ms set storage plain;
alter table signalbox.queue_stat add column durations bigint[];
"""

# It returns one column more now; the script makes it anew after this migration.
REPLACED = """
drop function if exists signalbox._unfolded(bigint, bigint, bigint[]);
delete from signalbox.sql_script where name = 'fold';
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0011_audit_chain")]
    operations = [
        migrations.AddField("queue", "wait_target_seconds", models.FloatField(db_default=60.0)),
        migrations.AddField("queue", "wait_target_ratio", models.FloatField(db_default=0.99)),
        migrations.RunSQL(
            DURATIONS,
            "alter table signalbox.queue_stat drop column durations;"
            "alter table signalbox.counter_delta drop column waits_ms;",
        ),
        migrations.RunSQL(REPLACED, REPLACED),
    ]
