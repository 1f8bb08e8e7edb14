-- fleet_release_groups(queue, groups): hand out groups of a FIFO queue that waited for another cell.
create or replace function signalbox.fleet_release_groups(queue text, groups text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into signalbox.fleet_released (queue, lane)
  select fleet_release_groups.queue, g.lane from unnest(fleet_release_groups.groups) g(lane)
  on conflict do nothing;
  insert into signalbox.lane_hint (queue_id, lane)
  select q.queue_id, g.lane
  from signalbox.queue q, unnest(fleet_release_groups.groups) g(lane)
  where q.name = fleet_release_groups.queue;
end $$;
