-- Counters: verbs append counter deltas; aggregation adds them to the totals of each queue.

-- Counter deltas, in a ring of four slots: TRUNCATE empties a slot whose deltas are aggregated. A claim's delta also
-- has the waiting times of its messages, stored plain because compressing a thousand of them would slow the claim.
create table signalbox.counter_delta (
  slot smallint not null default ((date_part('epoch', clock_timestamp())::bigint / 60 % 4)::smallint),
  event smallint not null,
  queue_id integer not null,
  txid bigint not null default (pg_current_xact_id()::text::bigint),
  amount bigint not null,
  lane text,
  waits_ms integer[]
) partition by list (slot);
alter table signalbox.counter_delta alter column waits_ms set storage plain;
create index counter_delta_txid on signalbox.counter_delta using brin (txid) with (pages_per_range = 8);
create table signalbox.counter_delta_0 partition of signalbox.counter_delta for values in (0);
create table signalbox.counter_delta_1 partition of signalbox.counter_delta for values in (1);
create table signalbox.counter_delta_2 partition of signalbox.counter_delta for values in (2);
create table signalbox.counter_delta_3 partition of signalbox.counter_delta for values in (3);

-- The events that are counted, and the states between which each moves a message. Filled by queues/sql.
create table signalbox.counter_event (
  event smallint primary key,
  name text not null unique,
  from_state text,
  to_state text
);

-- Aggregations, with the snapshot that says which deltas each has added. The first one precedes every delta.
create sequence signalbox.aggregation_id;
create table signalbox.aggregation (
  aggregation_id bigint primary key default nextval('signalbox.aggregation_id'),
  aggregated_at timestamptz not null,
  snapshot pg_snapshot not null
);
insert into signalbox.aggregation (aggregated_at, snapshot) values (clock_timestamp(), '1:1:');

-- Totals of each queue by event, and waiting and work times by bucket, as of an aggregation. The newest row counts.
create table signalbox.queue_stat (
  queue_id integer not null,
  aggregation_id bigint not null,
  aggregated_at timestamptz not null,
  totals bigint[] not null,
  durations bigint[],
  primary key (queue_id, aggregation_id)
);

-- The last warning that was logged about each queue, by kind, and the total that it reported.
create table signalbox.logged_warning (
  queue_id integer not null,
  kind text not null,
  logged_at timestamptz not null,
  counted bigint not null,
  primary key (queue_id, kind)
);
