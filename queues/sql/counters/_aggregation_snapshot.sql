-- The snapshot of this statement, which does not cover the aggregating transaction itself: that transaction may still
-- write deltas, so all its deltas are left to a later aggregation.
create or replace function signalbox._aggregation_snapshot() returns pg_snapshot
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select format('%s:%s:%s', pg_snapshot_xmin(s), pg_snapshot_xmax(s), (
    select string_agg(open.xid::text, ',' order by open.xid)
    from (select pg_snapshot_xip(s) union select own where own < pg_snapshot_xmax(s)) open(xid)
  ))::pg_snapshot
  from pg_current_snapshot() s, pg_current_xact_id_if_assigned() own
$$;
