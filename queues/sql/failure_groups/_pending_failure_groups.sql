-- Deltas of failure groups that a snapshot does not cover.
create or replace function signalbox._pending_failure_groups(p_xmax bigint, p_xip bigint[])
returns setof signalbox.cluster_delta
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
