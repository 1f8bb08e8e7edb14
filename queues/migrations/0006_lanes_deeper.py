"""Lanes under an old snapshot: floors for their hints and for what waits, and what is known of each lane's places and
slots, so that a promoter does not walk over what the lane has consumed."""

from django.db import migrations, models

# Both times are those of clock_time.sql, in its own words: functions are installed after the migrations.
FLOORS = """
alter table signalbox.lane_hint alter column due_at set default greatest(
  clock_timestamp(), timestamptz 'epoch' + pg_sequence_last_value('signalbox.clock'::regclass) * interval '1 microsecond'
);
alter table signalbox.waiting alter column waiting_since set default greatest(
  clock_timestamp(), timestamptz 'epoch' + pg_sequence_last_value('signalbox.clock'::regclass) * interval '1 microsecond'
);
drop index signalbox.lane_hint_lane;
create index lane_hint_lane on signalbox.lane_hint (hashtextextended(lane, queue_id::bigint), due_at);
insert into signalbox.head (queue_id, kind)
select q.queue_id, k.kind
from signalbox.queue q, (values (12::smallint), (13::smallint)) k(kind)
where q.mode = 'fifo' or q.lane_max_in_flight > 0
  or exists (select from signalbox.waiting w where w.queue_id = q.queue_id)
  or exists (select from signalbox.lane_hint h where h.queue_id = q.queue_id);
"""

# Slots are numbered in the order in which they are taken; under a lane's lock only one promoter takes any.
SLOTS = """
alter table signalbox.lane_slot add column slot bigint not null default nextval('signalbox.place');
drop index signalbox.lane_slot_lane;
create index lane_slot_lane on signalbox.lane_slot (queue_id, lane, slot);
"""

KNOWLEDGE = """
create sequence signalbox.place_mark minvalue 0;
create sequence signalbox.place_horizon minvalue 0;
create sequence signalbox.lane_epoch;
create sequence signalbox.lane_noted;
select setval('signalbox.place_mark', 0), setval('signalbox.place_horizon', 0), nextval('signalbox.lane_epoch');
grant select on sequence signalbox.place_mark, signalbox.place_horizon, signalbox.lane_epoch to public;
create table signalbox.lane_floor (
  queue_id integer not null,
  lane text not null,
  noted bigint not null default nextval('signalbox.lane_noted'),
  noted_at timestamptz not null default clock_timestamp(),
  epoch bigint not null,
  place bigint not null,
  slot bigint not null,
  latest bigint not null,
  holders bigint[] not null
);
create index lane_floor_newest on signalbox.lane_floor (queue_id, lane, noted);
alter table signalbox.lane_floor set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
"""

# What each lane has, by deltas and folds like the counters of a queue; the newest row of a lane counts.
COUNTERS = """
alter table signalbox.counter_delta add column lane text;
create table signalbox.lane_stat (
  queue_id integer not null,
  lane text not null,
  fold_id bigint not null,
  folded_at timestamptz not null,
  waiting bigint not null,
  under_way bigint not null
);
create index lane_stat_newest on signalbox.lane_stat (queue_id, lane, fold_id);
alter table signalbox.lane_stat set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
insert into signalbox.lane_stat (queue_id, lane, fold_id, folded_at, waiting, under_way)
select l.queue_id, l.lane, (select max(f.fold_id) from signalbox.fold f), clock_timestamp(), sum(l.waiting), sum(l.under_way)
from (
  select w.queue_id, w.lane, 1 as waiting, 0 as under_way from signalbox.waiting w
  union all
  select s.queue_id, s.lane, 0, 1 from signalbox.lane_slot s
) l
group by l.queue_id, l.lane;
"""

# When each kind of trouble of a queue was last written to the log, and up to which total. What was before is not told.
WARNINGS = """
create table signalbox.logged_warning (
  queue_id integer not null,
  kind text not null,
  logged_at timestamptz not null,
  counted bigint not null,
  primary key (queue_id, kind)
);
insert into signalbox.logged_warning (queue_id, kind, logged_at, counted)
select s.queue_id, k.kind, clock_timestamp(), k.counted
from (select distinct on (n.queue_id) n.queue_id, n.totals from signalbox.queue_stat n order by n.queue_id, n.fold_id desc) s,
  lateral (values
    ('expired', coalesce(s.totals[10], 0) + coalesce(s.totals[11], 0)),
    ('dead', coalesce(s.totals[8], 0) + coalesce(s.totals[9], 0) + coalesce(s.totals[10], 0))
  ) k(kind, counted);
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0005_bodies_and_state")]
    operations = [
        migrations.AddField("queue", "lane_max_waiting", models.BigIntegerField(db_default=0)),
        migrations.AddField("queue", "warn_every_seconds", models.FloatField(db_default=600.0)),
        migrations.AddField("queue", "block_lane_on_dead", models.BooleanField(db_default=False)),
        *[migrations.RunSQL(statements) for statements in (FLOORS, SLOTS, KNOWLEDGE, COUNTERS, WARNINGS)],
    ]
