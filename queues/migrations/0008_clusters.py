"""Failures by their cause: deltas that deaths and removals append, and what upkeep sums up of them for each fingerprint.

What is dead already is counted here, in the transaction that begins to count: nothing dies meanwhile.
"""

from django.db import migrations

# A ring like that of counter_delta, emptied by TRUNCATE when its rows are folded.
DELTAS = """
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
create sequence signalbox.cluster_fold_id;
create table signalbox.cluster_fold (
  fold_id bigint primary key default nextval('signalbox.cluster_fold_id'),
  folded_at timestamptz not null,
  snapshot pg_snapshot not null
);
insert into signalbox.cluster_fold (folded_at, snapshot) values (clock_timestamp(), '1:1:');
"""

# Written by the fold alone.
CLUSTERS = """
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
) with (fillfactor = 70);
create index failure_cluster_worst on signalbox.failure_cluster (dead, fingerprint) where dead > 0;
create index failure_cluster_newest on signalbox.failure_cluster (last_seen, fingerprint);
create index failure_cluster_over on signalbox.failure_cluster (last_seen) where dead <= 0;
create table signalbox.failure_cluster_queue (
  fingerprint text not null,
  queue_id integer not null,
  last_seen timestamptz not null,
  deaths bigint not null,
  dead bigint not null,
  primary key (fingerprint, queue_id)
) with (fillfactor = 70);
create index failure_cluster_queue_queue on signalbox.failure_cluster_queue (queue_id, fingerprint);
create table signalbox.failure_cluster_bucket (
  fingerprint text not null,
  bucket_at timestamptz not null,
  queue_id integer not null,
  deaths bigint not null,
  primary key (fingerprint, bucket_at, queue_id)
) with (fillfactor = 70);
create index failure_cluster_bucket_age on signalbox.failure_cluster_bucket (bucket_at);
alter table signalbox.failure_cluster set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.failure_cluster_queue set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
alter table signalbox.failure_cluster_bucket set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
"""

# What the triggers do is in queues/sql/_count_deaths.sql, which is installed after the migrations; until then this counts.
TRIGGERS = """
create function signalbox._count_deaths() returns trigger language plpgsql as $$
begin
  insert into signalbox.cluster_delta (
    fingerprint, queue_id, bucket_at, deaths, dead, first_at, last_at, reason, error_class, error
  )
  select b.fingerprint, b.source_queue_id, date_bin('10 minutes', b.died_at, timestamptz '2000-01-01 00:00:00+00'),
    1, 1, b.died_at, b.died_at, b.reason, b.error_class, left(b.error, 500)
  from buried b;
  return null;
end $$;
create function signalbox._count_departures() returns trigger language plpgsql as $$
begin
  insert into signalbox.cluster_delta (fingerprint, queue_id, deaths, dead)
  select g.fingerprint, g.source_queue_id, 0, -count(*) from gone g group by g.fingerprint, g.source_queue_id;
  return null;
end $$;
lock table signalbox.dead_letter in share row exclusive mode;
create trigger count_deaths after insert on signalbox.dead_letter
  referencing new table as buried for each statement execute function signalbox._count_deaths();
create trigger count_departures after delete on signalbox.dead_letter
  referencing old table as gone for each statement execute function signalbox._count_departures();
"""

COUNT = """
insert into signalbox.failure_cluster (fingerprint, reason, error_class, error, first_seen, last_seen, deaths, dead)
select d.fingerprint, min(d.reason), min(d.error_class), left(min(d.error), 500), min(d.died_at), max(d.died_at), count(*), count(*)
from signalbox.dead_letter d
group by d.fingerprint;
insert into signalbox.failure_cluster_queue (fingerprint, queue_id, last_seen, deaths, dead)
select d.fingerprint, d.source_queue_id, max(d.died_at), count(*), count(*)
from signalbox.dead_letter d
group by d.fingerprint, d.source_queue_id;
insert into signalbox.failure_cluster_bucket (fingerprint, bucket_at, queue_id, deaths)
select d.fingerprint, date_bin('10 minutes', d.died_at, timestamptz '2000-01-01 00:00:00+00') as bucket_at, d.source_queue_id, count(*)
from signalbox.dead_letter d
where d.died_at > clock_timestamp() - interval '14 days'
group by d.fingerprint, bucket_at, d.source_queue_id;
"""


class Migration(migrations.Migration):
    dependencies = [("queues", "0007_tenant_refusals")]
    operations = [migrations.RunSQL(statements) for statements in (DELTAS, CLUSTERS, TRIGGERS, COUNT)]
