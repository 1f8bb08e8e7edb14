-- Failure groups: dead letters with one fingerprint, counted by deltas and an aggregation, as the totals of queues are.

-- Deaths and departures of dead letters, in a ring of four slots that TRUNCATE empties.
create table signalbox.cluster_delta (
  slot smallint not null default ((date_part('epoch', clock_timestamp())::bigint / 60 % 4)::smallint),
  txid bigint not null default (pg_current_xact_id()::text::bigint),
  fingerprint text not null,
  queue_id integer not null,
  bucket_at timestamptz,
  deaths bigint not null,
  dead bigint not null,
  first_at timestamptz,
  last_at timestamptz,
  reason text,
  error_class text,
  error text,
  frame text,
  again_at timestamptz,
  again_redrive_id bigint
) partition by list (slot);
create index cluster_delta_txid on signalbox.cluster_delta using brin (txid) with (pages_per_range = 8);
create table signalbox.cluster_delta_0 partition of signalbox.cluster_delta for values in (0);
create table signalbox.cluster_delta_1 partition of signalbox.cluster_delta for values in (1);
create table signalbox.cluster_delta_2 partition of signalbox.cluster_delta for values in (2);
create table signalbox.cluster_delta_3 partition of signalbox.cluster_delta for values in (3);

-- Aggregations of these deltas. The first one precedes every delta.
create sequence signalbox.failure_group_aggregation_id;
create table signalbox.failure_group_aggregation (
  aggregation_id bigint primary key default nextval('signalbox.failure_group_aggregation_id'),
  aggregated_at timestamptz not null,
  snapshot pg_snapshot not null
);
insert into signalbox.failure_group_aggregation (aggregated_at, snapshot) values (clock_timestamp(), '1:1:');

-- Failure groups. Only the aggregation writes this table and the next two.
create table signalbox.failure_cluster (
  fingerprint text primary key,
  reason text,
  error_class text,
  error text,
  frame text,
  first_seen timestamptz not null,
  last_seen timestamptz not null,
  deaths bigint not null,
  dead bigint not null,
  again_at timestamptz,
  again_redrive_id bigint
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index failure_cluster_worst on signalbox.failure_cluster (dead, fingerprint) where dead > 0;
create index failure_cluster_newest on signalbox.failure_cluster (last_seen, fingerprint);
create index failure_cluster_over on signalbox.failure_cluster (last_seen) where dead <= 0;

-- The numbers of a failure group in each queue where its messages died.
create table signalbox.failure_cluster_queue (
  fingerprint text not null,
  queue_id integer not null,
  last_seen timestamptz not null,
  deaths bigint not null,
  dead bigint not null,
  primary key (fingerprint, queue_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index failure_cluster_queue_queue on signalbox.failure_cluster_queue (queue_id, fingerprint);

-- The deaths of a failure group over time, by ten minutes and queue.
create table signalbox.failure_cluster_bucket (
  fingerprint text not null,
  bucket_at timestamptz not null,
  queue_id integer not null,
  deaths bigint not null,
  primary key (fingerprint, bucket_at, queue_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index failure_cluster_bucket_age on signalbox.failure_cluster_bucket (bucket_at);

-- Triggers count every death and departure in its own transaction.
-- queues/sql/failure_groups/_count_deaths.sql replaces both functions.
create function signalbox._count_deaths() returns trigger language plpgsql as $$ begin return null; end $$;
create function signalbox._count_departures() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger count_deaths after insert on signalbox.dead_letter
  referencing new table as buried for each statement execute function signalbox._count_deaths();
create trigger count_departures after delete on signalbox.dead_letter
  referencing old table as gone for each statement execute function signalbox._count_departures();
