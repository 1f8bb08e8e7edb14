-- Count dead letters of each failure group from the rows, once, after a dump was restored on another server, whose
-- transaction ids are others (_rebase_counters). Totals continue from the last aggregation. Called by the aggregation,
-- under its lock.
create or replace function signalbox._recount_failure_groups() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table signalbox.cluster_delta in access exclusive mode;
  truncate signalbox.cluster_delta;
  insert into signalbox.failure_group_aggregation (aggregated_at, snapshot)
    select clock_timestamp(), signalbox._aggregation_snapshot();
  perform signalbox._note_home('clusters');
  update signalbox.failure_cluster c set dead = 0 where c.dead <> 0;
  update signalbox.failure_cluster_queue c set dead = 0 where c.dead <> 0;
  insert into signalbox.failure_cluster as c (
    fingerprint, reason, error_class, error, first_seen, last_seen, deaths, dead
  )
  select d.fingerprint, min(d.reason), min(d.error_class), left(min(d.error), 500), min(d.died_at), max(d.died_at),
    count(*), count(*)
  from signalbox.dead_letter d
  group by d.fingerprint
  on conflict (fingerprint) do update set dead = excluded.dead;
  insert into signalbox.failure_cluster_queue as c (fingerprint, queue_id, last_seen, deaths, dead)
  select d.fingerprint, d.source_queue_id, max(d.died_at), count(*), count(*)
  from signalbox.dead_letter d
  group by d.fingerprint, d.source_queue_id
  on conflict (fingerprint, queue_id) do update set dead = excluded.dead;
end $$;
