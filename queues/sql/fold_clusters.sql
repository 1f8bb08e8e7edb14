-- fold_clusters(): add the cluster deltas that became visible since the last fold to the clusters; returns how many, or null
-- while another folds. As fold() does: what this statement's snapshot shows and the last fold's did not, each exactly once.
-- It alone writes the clusters, so nobody waits for it. Readers add what the last snapshot does not cover
-- (unfolded_clusters), which makes their numbers exact. Index: cluster_delta_txid (BRIN).
create or replace function signalbox.fold_clusters() returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last record;
  v_own bigint := coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0);
  v_folded bigint;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('fold_clusters');
  end if;
  if not pg_try_advisory_xact_lock(hashtext('signalbox.fold_clusters'), 0) then
    return null;
  end if;
  select * into v_last from signalbox._last_cluster_fold();
  if signalbox._is_from_elsewhere('clusters', v_last.xmax) then
    perform signalbox._recount_clusters();
    return 0;
  end if;
  with fresh as materialized (
    select u.* from signalbox._unfolded_clusters(v_last.xmax, v_last.xip) u where u.txid <> v_own
  ), noted as (
    insert into signalbox.cluster_fold (folded_at, snapshot)
    select clock_timestamp(), signalbox._fold_snapshot()
    where exists (select from fresh)
  ), clusters as (
    insert into signalbox.failure_cluster as c (
      fingerprint, reason, error_class, error, frame, first_seen, last_seen, deaths, dead, again_at, again_redrive_id
    )
    select f.fingerprint, min(f.reason), min(f.error_class), min(f.error), min(f.frame),
      coalesce(min(f.first_at), clock_timestamp()), coalesce(max(f.last_at), clock_timestamp()), sum(f.deaths), sum(f.dead),
      max(f.again_at), (max(array[extract(epoch from f.again_at), f.again_redrive_id]) filter (where f.again_at is not null))[2]
    from fresh f
    group by f.fingerprint
    order by f.fingerprint
    on conflict (fingerprint) do update set
      reason = coalesce(c.reason, excluded.reason),
      error_class = coalesce(c.error_class, excluded.error_class),
      error = coalesce(c.error, excluded.error),
      frame = coalesce(c.frame, excluded.frame),
      first_seen = least(c.first_seen, excluded.first_seen),
      last_seen = greatest(c.last_seen, excluded.last_seen),
      deaths = c.deaths + excluded.deaths,
      dead = c.dead + excluded.dead,
      again_at = greatest(c.again_at, excluded.again_at),
      again_redrive_id = case when excluded.again_at is null then c.again_redrive_id else excluded.again_redrive_id end
  ), queues as (
    insert into signalbox.failure_cluster_queue as c (fingerprint, queue_id, last_seen, deaths, dead)
    select f.fingerprint, f.queue_id, coalesce(max(f.last_at), clock_timestamp()), sum(f.deaths), sum(f.dead)
    from fresh f
    group by f.fingerprint, f.queue_id
    order by f.fingerprint, f.queue_id
    on conflict (fingerprint, queue_id) do update set
      last_seen = greatest(c.last_seen, excluded.last_seen),
      deaths = c.deaths + excluded.deaths,
      dead = c.dead + excluded.dead
  ), buckets as (
    insert into signalbox.failure_cluster_bucket as c (fingerprint, bucket_at, queue_id, deaths)
    select f.fingerprint, f.bucket_at, f.queue_id, sum(f.deaths)
    from fresh f
    where f.deaths > 0 and f.bucket_at > clock_timestamp() - interval '14 days'
    group by f.fingerprint, f.bucket_at, f.queue_id
    order by f.fingerprint, f.bucket_at, f.queue_id
    on conflict (fingerprint, bucket_at, queue_id) do update set deaths = c.deaths + excluded.deaths
  )
  select count(*) into v_folded from fresh;
  return v_folded;
end $$;

-- The deltas that the clusters do not have yet: to be added to them in the same statement, whose snapshot it reads by.
-- Not inlined there, so that what else is asked for cannot make it read what is folded.
create or replace function signalbox.unfolded_clusters() returns setof signalbox.cluster_delta
language plpgsql stable
rows 100
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last record;
begin
  select * into v_last from signalbox._last_cluster_fold();
  return query select u.* from signalbox._unfolded_clusters(v_last.xmax, v_last.xip) u;
end $$;

create or replace function signalbox._unfolded_clusters(p_xmax bigint, p_xip bigint[]) returns setof signalbox.cluster_delta
language plpgsql stable
rows 100
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first bigint := signalbox._first_ended(p_xmax, p_xip);
begin
  return query
  select d.*
  from signalbox.cluster_delta d
  where d.txid >= v_first and (d.txid >= p_xmax or d.txid = any(p_xip));
end $$;

create or replace function signalbox._last_cluster_fold() returns table (fold_id bigint, xmax bigint, xip bigint[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.fold_id, pg_snapshot_xmax(f.snapshot)::text::bigint, array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x)
  from signalbox.cluster_fold f
  order by f.fold_id desc
  limit 1
$$;

-- A dump was restored into another cluster, whose transaction ids are others (see _rebase_counters): what is dead is
-- counted from the rows once, totals of what happened go on from the last fold. Called by the fold, under its lock.
create or replace function signalbox._recount_clusters() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table signalbox.cluster_delta in access exclusive mode;
  truncate signalbox.cluster_delta;
  insert into signalbox.cluster_fold (folded_at, snapshot) select clock_timestamp(), signalbox._fold_snapshot();
  perform signalbox._note_home('clusters');
  update signalbox.failure_cluster c set dead = 0 where c.dead <> 0;
  update signalbox.failure_cluster_queue c set dead = 0 where c.dead <> 0;
  insert into signalbox.failure_cluster as c (fingerprint, reason, error_class, error, first_seen, last_seen, deaths, dead)
  select d.fingerprint, min(d.reason), min(d.error_class), left(min(d.error), 500), min(d.died_at), max(d.died_at), count(*), count(*)
  from signalbox.dead_letter d
  group by d.fingerprint
  on conflict (fingerprint) do update set dead = excluded.dead;
  insert into signalbox.failure_cluster_queue as c (fingerprint, queue_id, last_seen, deaths, dead)
  select d.fingerprint, d.source_queue_id, max(d.died_at), count(*), count(*)
  from signalbox.dead_letter d
  group by d.fingerprint, d.source_queue_id
  on conflict (fingerprint, queue_id) do update set dead = excluded.dead;
end $$;
