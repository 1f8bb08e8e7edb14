-- Hand out groups of a FIFO queue that waited for another cell.
create or replace function signalbox._fleet_release_groups(queue text, groups text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into signalbox.fleet_released (queue, lane)
  select _fleet_release_groups.queue, g.lane from unnest(_fleet_release_groups.groups) g(lane)
  on conflict do nothing;
  insert into signalbox.lane_hint (queue_id, lane)
  select q.queue_id, g.lane
  from signalbox.queue q, unnest(_fleet_release_groups.groups) g(lane)
  where q.name = _fleet_release_groups.queue;
end $$;
