-- History: how messages ended, which deliveries failed, and the numbers of each queue over time.

-- How messages ended, one row for each queue, outcome and transaction. Partitioned by time.
create table signalbox.settled (
  queue_id integer not null,
  outcome "char" not null default 'a',
  txid bigint not null default (pg_current_xact_id()::text::bigint),
  settled_at timestamptz not null,
  message_ids bigint[] not null,
  receive_counts smallint[] not null,
  work_ms integer[] not null,
  consumer text,
  results jsonb[]
) partition by range (settled_at);
create index settled_recent on signalbox.settled (queue_id, settled_at);
create index settled_ids on signalbox.settled using brin
  ((message_ids[1]) int8_minmax_multi_ops, (message_ids[cardinality(message_ids)]) int8_minmax_multi_ops, txid)
  with (pages_per_range = 16);
create table signalbox.settled_default partition of signalbox.settled default;

-- Failed deliveries. `txid` tells the archive in which transaction each was written. Partitioned by time.
create sequence signalbox.failure_id;
create table signalbox.failure (
  failure_id bigint not null default nextval('signalbox.failure_id'),
  queue_id integer not null,
  message_id bigint not null,
  receive_count smallint not null,
  leased_at timestamptz,
  failed_at timestamptz not null,
  retry_at timestamptz,
  reason text not null,
  error_class text,
  error text,
  details text,
  fingerprint text not null,
  consumer text,
  txid bigint not null default (pg_current_xact_id()::text::bigint)
) partition by range (failed_at);
create index failure_message on signalbox.failure (message_id, failed_at);
create index failure_recent on signalbox.failure (queue_id, failed_at);
create index failure_txid on signalbox.failure using brin (txid) with (pages_per_range = 16);
create table signalbox.failure_default partition of signalbox.failure default;

-- Numbers of each queue over time: every ten seconds for an hour. Partitioned by time, so that old parts are dropped.
-- queue_id 0 is all queues together and -n is tenant n: they are added up, read and dropped as queues are.
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
  totals bigint[], -- of queues only: the events between two buckets are then one subtraction
  primary key (queue_id, bucket_at)
) partition by range (bucket_at);
create table signalbox.queue_history_default partition of signalbox.queue_history default;

-- The numbers of each minute, for a day.
create table signalbox.queue_history_minute (
  like signalbox.queue_history including defaults,
  primary key (queue_id, bucket_at)
) partition by range (bucket_at);
create table signalbox.queue_history_minute_default partition of signalbox.queue_history_minute default;

-- The numbers of every ten minutes, for two weeks.
create table signalbox.queue_history_ten_minutes (
  like signalbox.queue_history including defaults,
  primary key (queue_id, bucket_at)
) partition by range (bucket_at);
create table signalbox.queue_history_ten_minutes_default partition of signalbox.queue_history_ten_minutes default;

-- Recorded buckets, each with the aggregation that it was read from. Events of a missing bucket are in the next one.
create table signalbox.history_record (
  step_seconds integer not null,
  bucket_at timestamptz not null,
  seconds integer not null,
  aggregation_id bigint not null,
  primary key (step_seconds, bucket_at)
);

-- Refused sends of each queue that history has counted.
create table signalbox.history_refused (
  queue_id integer primary key,
  counted bigint not null
);
