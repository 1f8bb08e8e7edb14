-- recount_lanes(queue_id): count the messages of every message group, row by row. For tests and checks, like recount.
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
