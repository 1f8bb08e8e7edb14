-- The groups of a FIFO queue, among these, that have no message left in this cell. A dead letter that holds its group
-- counts.
create or replace function signalbox._fleet_emptied_groups(queue text, groups text[]) returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(g.lane), '{}')
  from unnest(_fleet_emptied_groups.groups) g(lane)
  join signalbox.queue q on q.name = _fleet_emptied_groups.queue
  where not exists (select from signalbox.waiting w where w.queue_id = q.queue_id and w.lane = g.lane)
    and not exists (select from signalbox.lane_slot s where s.queue_id = q.queue_id and s.lane = g.lane)
$$;
