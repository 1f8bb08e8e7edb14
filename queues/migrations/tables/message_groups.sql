-- Message groups: messages with one group_id, in order or limited in flight. The engine calls a group's key its lane.
-- The defaults of `waiting_since` and `due_at` repeat clock_time.sql: functions are installed after tables.

create sequence signalbox.place;

-- Tickets of messages that wait for their group. Claims never read this table.
create table signalbox.waiting (
  queue_id integer not null,
  lane text not null,
  place bigint not null default nextval('signalbox.place'),
  priority smallint not null,
  receive_count smallint not null,
  waiting_since timestamptz not null default greatest(
    clock_timestamp(),
    timestamptz 'epoch' + pg_sequence_last_value('signalbox.clock'::regclass) * interval '1 microsecond'
  ),
  message_id bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index waiting_lane on signalbox.waiting (queue_id, lane, place);
create index waiting_age on signalbox.waiting (queue_id, waiting_since, message_id);
create unique index waiting_message on signalbox.waiting (message_id);

-- Messages that take one of their group's permits, numbered in the order in which the permits were taken.
create table signalbox.lane_slot (
  message_id bigint primary key,
  queue_id integer not null,
  lane text not null,
  slot bigint not null default nextval('signalbox.place')
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index lane_slot_lane on signalbox.lane_slot (queue_id, lane, slot);

-- Groups that may have a message to promote from `waiting` to `ready`, and when to look.
create table signalbox.lane_hint (
  queue_id integer not null,
  lane text not null,
  due_at timestamptz not null default greatest(
    clock_timestamp(),
    timestamptz 'epoch' + pg_sequence_last_value('signalbox.clock'::regclass) * interval '1 microsecond'
  )
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index lane_hint_due on signalbox.lane_hint (queue_id, due_at);
create index lane_hint_lane on signalbox.lane_hint (hashtextextended(lane, queue_id::bigint), due_at);

-- Groups with a limit of their own in place of their queue's.
create table signalbox.lane_limit (
  queue_id integer not null,
  lane text not null,
  max_in_flight integer not null check (max_in_flight between 1 and 100000),
  primary key (queue_id, lane)
);

-- The lowest place and permit of each group that may still be in use, so that promotion skips what the group consumed.
-- The newest row of a group counts.
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
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index lane_floor_newest on signalbox.lane_floor (queue_id, lane, noted);

-- How many messages of each group wait and are under way, as of an aggregation. The newest row of a group counts.
create table signalbox.lane_stat (
  queue_id integer not null,
  lane text not null,
  aggregation_id bigint not null,
  aggregated_at timestamptz not null,
  waiting bigint not null,
  under_way bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index lane_stat_newest on signalbox.lane_stat (queue_id, lane, aggregation_id);
