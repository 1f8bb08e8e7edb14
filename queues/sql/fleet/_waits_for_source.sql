-- Return whether a group of a FIFO queue waits in this cell until the cell that had its partition has none of its
-- messages left.
create or replace function signalbox._waits_for_source(p_queue text, p_lane text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select
    from signalbox.fleet_placement p, signalbox.fleet_directory d
    where p.queue = p_queue and p.partition = signalbox._partition_of(p_lane, {fleet.partitions})
      and p.state = 'draining' and p.cell = d.cell
  ) and not exists (
    select from signalbox.fleet_released r where r.queue = p_queue and r.lane = p_lane
  );
end $$;
