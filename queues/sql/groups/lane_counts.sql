-- lane_counts(queue_id, lanes): how many messages wait in each of these message groups and how many are in flight,
-- exact at this moment and without counting rows: the numbers of the last aggregation and the pending deltas. A group
-- with neither has a row of zeros or none. One statement, since an aggregation replaces the rows that it adds to.
-- Indexes: lane_stat_newest, counter_delta_txid.
create or replace function signalbox.lane_counts(queue_id integer, lanes text[])
returns table (lane text, waiting bigint, under_way bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with last as materialized (
    select f.xmin, f.xmax, f.xip from signalbox._last_aggregation() f
  ), fresh as materialized (
    select u.lane, sum(u.waiting)::bigint as waiting, sum(u.under_way)::bigint as under_way
    from last f, lateral signalbox._pending_lane_deltas(f.xmin, f.xmax, f.xip) u
    where u.queue_id = lane_counts.queue_id and u.lane = any(lane_counts.lanes)
    group by u.lane
  )
  select n.lane, coalesce(s.waiting, 0) + coalesce(f.waiting, 0), coalesce(s.under_way, 0) + coalesce(f.under_way, 0)
  from unnest(lane_counts.lanes) n(lane)
  left join fresh f on f.lane = n.lane
  left join lateral (
    select c.waiting, c.under_way
    from signalbox.lane_stat c
    where c.queue_id = lane_counts.queue_id and c.lane = n.lane
    order by c.aggregation_id desc
    limit 1
  ) s on true;
end $$;
