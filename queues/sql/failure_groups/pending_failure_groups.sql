-- pending_failure_groups(): deltas that the failure groups do not have yet, to be added to them in the same statement,
-- by whose snapshot it reads. It is not inlined, so that no other condition of the statement makes it read deltas that
-- are aggregated already.
create or replace function signalbox.pending_failure_groups() returns setof signalbox.cluster_delta
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
  select * into v_last from signalbox._last_failure_group_aggregation();
  return query select u.* from signalbox._pending_failure_groups(v_last.xmax, v_last.xip) u;
end $$;
