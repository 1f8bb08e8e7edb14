"""History in three steps: ten seconds for an hour, minutes for a day, ten minutes for two weeks.

Each is partitioned by time, so that what is old is dropped and never deleted row by row. The last hour is kept.
"""

from django.db import migrations

# queue_id is 0 for all queues together and -n for tenant n: they are added up, read and dropped as queues are.
TABLES = """
alter table signalbox.queue_history rename to queue_history_before;
alter index signalbox.queue_history_pkey rename to queue_history_before_pkey;
create table signalbox.queue_history (
  queue_id integer not null,
  bucket_at timestamptz not null,
  seconds integer not null,
  ready bigint not null,
  scheduled bigint not null,
  waiting bigint not null default 0,
  leased bigint not null,
  dead bigint not null,
  ready_highest bigint,
  scheduled_highest bigint,
  waiting_highest bigint,
  leased_highest bigint,
  dead_highest bigint,
  oldest_visible_at timestamptz,
  oldest_ready_age_seconds double precision,
  added bigint not null default 0,
  removed bigint not null,
  published bigint not null,
  delivered bigint not null,
  redelivered bigint not null default 0,
  acked bigint not null,
  nacked bigint not null,
  lease_expired bigint not null default 0,
  dead_lettered bigint not null,
  deduplicated bigint not null default 0,
  redriven bigint not null default 0,
  refused bigint not null default 0,
  waits bigint[],
  work bigint[],
  totals bigint[], -- of queues, in the finest step: what happened between two moments is then two probes away
  primary key (queue_id, bucket_at)
) partition by range (bucket_at);
create table signalbox.queue_history_default partition of signalbox.queue_history default;
create table signalbox.queue_history_minute (
  like signalbox.queue_history including defaults,
  primary key (queue_id, bucket_at)
) partition by range (bucket_at);
create table signalbox.queue_history_minute_default partition of signalbox.queue_history_minute default;
create table signalbox.queue_history_ten_minutes (
  like signalbox.queue_history including defaults,
  primary key (queue_id, bucket_at)
) partition by range (bucket_at);
create table signalbox.queue_history_ten_minutes_default partition of signalbox.queue_history_ten_minutes default;
"""

# Which buckets were recorded, and up to which fold: what is between two of them is a gap, and is counted once.
RECORDS = """
create table signalbox.history_record (
  step_seconds integer not null,
  bucket_at timestamptz not null,
  seconds integer not null,
  fold_id bigint not null,
  primary key (step_seconds, bucket_at)
);
create table signalbox.history_refused (
  queue_id integer primary key,
  counted bigint not null
);
"""

KEPT = """
do $kept$
begin
  for h in -3..1 loop
    execute format(
      'create table signalbox.queue_history_%s partition of signalbox.queue_history for values from (%L) to (%L)',
      to_char((date_trunc('hour', clock_timestamp(), 'UTC') + h * interval '1 hour') at time zone 'UTC', 'YYYYMMDDHH24'),
      date_trunc('hour', clock_timestamp(), 'UTC') + h * interval '1 hour',
      date_trunc('hour', clock_timestamp(), 'UTC') + (h + 1) * interval '1 hour'
    );
  end loop;
end $kept$;
insert into signalbox.queue_history (
  queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead, oldest_visible_at, oldest_ready_age_seconds,
  removed, published, delivered, acked, nacked, dead_lettered, totals
)
select b.queue_id, b.bucket_at, b.seconds, b.ready, b.scheduled, b.waiting, b.leased, b.dead,
  b.bucket_at - b.oldest_ready_age_seconds * interval '1 second', b.oldest_ready_age_seconds,
  b.removed, b.published, b.delivered, b.acked, b.nacked, b.dead_lettered, b.totals
from signalbox.queue_history_before b;
update signalbox.queue_stat s
set totals = s.totals || array_fill(0::bigint, array[48 - cardinality(s.totals)])
where cardinality(s.totals) < 48;
insert into signalbox.history_record (step_seconds, bucket_at, seconds, fold_id)
select 10, b.bucket_at, 10, (select max(f.fold_id) from signalbox.fold f)
from (
  select distinct h.bucket_at from signalbox.queue_history_before h where h.bucket_at > clock_timestamp() - interval '2 hours'
  union
  select date_bin('10 seconds', clock_timestamp(), timestamptz '2000-01-01 00:00+00')
  where exists (select from signalbox.queue_stat)
) b;
insert into signalbox.history_refused (queue_id, counted)
select r.queue_id, sum(r.counted) from signalbox.refusal r group by r.queue_id having sum(r.counted) > 0;
drop table signalbox.queue_history_before;
"""

# An upkeep that is already running goes on calling it; nothing is recorded until the script is installed again.
RESTING = """
create or replace function signalbox.record_history() returns integer language sql as 'select null::integer';
delete from signalbox.sql_script where name = 'record_history';
"""

BACK = """
drop table signalbox.history_refused;
drop table signalbox.history_record;
drop table signalbox.queue_history_ten_minutes;
drop table signalbox.queue_history_minute;
drop table signalbox.queue_history;
create table signalbox.queue_history (
  queue_id integer not null,
  bucket_at timestamptz not null,
  seconds integer not null,
  ready bigint not null,
  scheduled bigint not null,
  leased bigint not null,
  dead bigint not null,
  oldest_ready_age_seconds double precision,
  published bigint not null,
  delivered bigint not null,
  acked bigint not null,
  nacked bigint not null,
  dead_lettered bigint not null,
  removed bigint not null,
  totals bigint[] not null,
  waiting bigint not null default 0,
  primary key (queue_id, bucket_at)
);
"""

# Waits and work times are counted beside the totals, once the fold does so.
DURATIONS = "alter table signalbox.queue_stat add column if not exists durations bigint[];"


class Migration(migrations.Migration):
    dependencies = [("queues", "0013_alert_thresholds")]
    operations = [
        migrations.RunSQL(RESTING, RESTING),
        migrations.RunSQL(DURATIONS, migrations.RunSQL.noop),
        migrations.RunSQL(TABLES, BACK),
        migrations.RunSQL(RECORDS, migrations.RunSQL.noop),
        migrations.RunSQL(KEPT, migrations.RunSQL.noop),
    ]
