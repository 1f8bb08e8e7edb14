-- The last aggregation, with the parts of its snapshot as plain numbers, so that index conditions can use them.
create or replace function signalbox._last_aggregation()
returns table (aggregation_id bigint, aggregated_at timestamptz, xmin bigint, xmax bigint, xip bigint[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.aggregation_id, f.aggregated_at, pg_snapshot_xmin(f.snapshot)::text::bigint,
    pg_snapshot_xmax(f.snapshot)::text::bigint,
    array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x)
  from signalbox.aggregation f
  order by f.aggregation_id desc
  limit 1
$$;
