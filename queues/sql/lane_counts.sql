-- lane_counts(queue_id, lanes): how many messages wait in each of these lanes and how many are under way, exact at this
-- moment and never by counting them: the last fold's numbers and the deltas it does not cover. A lane with neither may
-- have a row or none. One statement, since a fold replaces what it adds to. Indexes: lane_stat_newest, counter_delta_txid.
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
    select f.xmin, f.xmax, f.xip from signalbox._last_fold() f
  ), fresh as materialized (
    select u.lane, sum(u.waiting)::bigint as waiting, sum(u.under_way)::bigint as under_way
    from last f, lateral signalbox._unfolded_lanes(f.xmin, f.xmax, f.xip) u
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
    order by c.fold_id desc
    limit 1
  ) s on true;
end $$;

-- recount_lanes(queue_id): the same of every lane, counted row by row. For tests and for doubt, like recount.
create or replace function signalbox.recount_lanes(queue_id integer)
returns table (lane text, waiting bigint, under_way bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select l.lane, count(*) filter (where l.waits), count(*) filter (where not l.waits)
  from (
    select w.lane, true as waits from signalbox.waiting w where w.queue_id = recount_lanes.queue_id
    union all
    select s.lane, false from signalbox.lane_slot s where s.queue_id = recount_lanes.queue_id
  ) l
  group by l.lane
$$;
