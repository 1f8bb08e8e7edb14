-- The snapshot of the last aggregation of failure groups.
create or replace function signalbox._last_failure_group_aggregation()
returns table (aggregation_id bigint, xmax bigint, xip bigint[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.aggregation_id, pg_snapshot_xmax(f.snapshot)::text::bigint,
    array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x)
  from signalbox.failure_group_aggregation f
  order by f.aggregation_id desc
  limit 1
$$;
