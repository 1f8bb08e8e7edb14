-- fleet_place(queue, cells): enter a queue in the directory, with its partitions dealt to these cells in turn. Returns
-- the directory's version. In the directory's home only. On other cells than this one, only an empty queue is placed. A
-- queue is placed once: afterwards its partitions move.
create or replace function signalbox.fleet_place(queue text, cells text[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_version bigint := signalbox._next_version();
  v_here text := (select d.cell from signalbox.fleet_directory d);
  v_mode text;
begin
  if coalesce(cardinality(fleet_place.cells), 0) = 0 then
    perform signalbox._refuse('cells', 'must name at least one cell');
  end if;
  if exists (select from signalbox.fleet_queue f where f.queue = fleet_place.queue) then
    perform signalbox._refuse('queue', format('%s is placed already: move it', quote_literal(fleet_place.queue)));
  end if;
  select q.mode into v_mode from signalbox.queue q where q.name = fleet_place.queue for no key update;
  if not found then
    perform signalbox._refuse_unknown_queue(fleet_place.queue);
  end if;
  if fleet_place.cells <> array[v_here] then
    perform signalbox.check_placeable(fleet_place.queue);
  end if;
  insert into signalbox.fleet_queue (queue, is_fifo, version) values (fleet_place.queue, v_mode = 'fifo', v_version);
  insert into signalbox.fleet_placement (queue, partition, cell, epoch, version)
  select fleet_place.queue, n.partition, fleet_place.cells[n.partition % cardinality(fleet_place.cells) + 1], 1,
    v_version
  from generate_series(0, {fleet.partitions} - 1) n(partition);
  perform signalbox._note_placement(array[fleet_place.queue]);
  return v_version;
end $$;
