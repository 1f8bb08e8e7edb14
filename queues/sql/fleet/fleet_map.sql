-- fleet_map(queue): the map by which a client sends to a queue and receives from it: the cells with their addresses,
-- and the cell of each partition; null where this database is in no fleet. `partitions` is null for a queue that was
-- not placed: it is in the cell that is asked.
create or replace function signalbox.fleet_map(queue text) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'cell', d.cell,
    'version', d.version,
    'urls', (select jsonb_object_agg(c.name, c.url) from signalbox.fleet_cell c),
    'is_fifo', (select f.is_fifo from signalbox.fleet_queue f where f.queue = fleet_map.queue),
    'partitions', (
      select jsonb_agg(p.cell order by p.partition) from signalbox.fleet_placement p where p.queue = fleet_map.queue
    ),
    'holders', (
      select jsonb_agg(distinct h.cell)
      from signalbox.fleet_placement p, unnest(array[p.cell, p.from_cell]) h(cell)
      where p.queue = fleet_map.queue and h.cell is not null
    )
  )
  from signalbox.fleet_directory d
$$;
