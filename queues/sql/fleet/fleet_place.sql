-- fleet_place(queue): enter a queue of this cell in the directory, with all its partitions in this cell: from here they
-- move. Returns the directory's version. In the directory's home only.
create or replace function signalbox.fleet_place(queue text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_version bigint := signalbox._next_version();
  v_mode text;
begin
  if exists (select from signalbox.fleet_queue f where f.queue = fleet_place.queue) then
    perform signalbox._refuse('queue', format('%s is placed already: move it', quote_literal(fleet_place.queue)));
  end if;
  select q.mode into v_mode from signalbox.queue q where q.name = fleet_place.queue for no key update;
  if not found then
    perform signalbox._refuse_unknown_queue(fleet_place.queue);
  end if;
  perform signalbox._check_movable(q) from signalbox.queue q where q.name = fleet_place.queue;
  insert into signalbox.fleet_queue (queue, is_fifo, version) values (fleet_place.queue, v_mode = 'fifo', v_version);
  insert into signalbox.fleet_placement (queue, partition, cell, epoch, version)
  select fleet_place.queue, n.partition, d.cell, 1, v_version
  from signalbox.fleet_directory d, generate_series(0, {fleet.partitions} - 1) n(partition);
  return v_version;
end $$;
