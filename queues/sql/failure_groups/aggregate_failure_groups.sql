-- aggregate_failure_groups(): add the deltas that became visible since the last aggregation to the failure groups.
-- Returns how many, or null while another process aggregates. As in aggregate_counters, each delta is added exactly
-- once. It alone writes failure groups, so nothing waits for it. Readers add the deltas that the last snapshot does not
-- cover (pending_failure_groups), which makes their numbers exact. Index: cluster_delta_txid (BRIN).
create or replace function signalbox.aggregate_failure_groups() returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last record;
  v_own bigint := coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0);
  v_aggregated bigint;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('aggregate_failure_groups');
  end if;
  if not pg_try_advisory_xact_lock(hashtext('signalbox.aggregate_failure_groups'), 0) then
    return null;
  end if;
  select * into v_last from signalbox._last_failure_group_aggregation();
  if signalbox._is_from_elsewhere('clusters', v_last.xmax) then
    perform signalbox._recount_failure_groups();
    return 0;
  end if;
  with fresh as materialized (
    select u.* from signalbox._pending_failure_groups(v_last.xmax, v_last.xip) u where u.txid <> v_own
  ), noted as (
    insert into signalbox.failure_group_aggregation (aggregated_at, snapshot)
    select clock_timestamp(), signalbox._aggregation_snapshot()
    where exists (select from fresh)
  ), clusters as (
    insert into signalbox.failure_cluster as c (
      fingerprint, reason, error_class, error, frame, first_seen, last_seen, deaths, dead, again_at, again_redrive_id
    )
    select f.fingerprint, min(f.reason), min(f.error_class), min(f.error), min(f.frame),
      coalesce(min(f.first_at), clock_timestamp()), coalesce(max(f.last_at), clock_timestamp()), sum(f.deaths),
      sum(f.dead),
      max(f.again_at), (
        max(array[extract(epoch from f.again_at), f.again_redrive_id]) filter (where f.again_at is not null)
      )[2]
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
  select count(*) into v_aggregated from fresh;
  return v_aggregated;
end $$;
