-- Change the placement of a move's partitions, at the next epoch of each.
create or replace function signalbox._place(
  p_move signalbox.fleet_move, p_cell text, p_from_cell text, p_state text, p_version bigint
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update signalbox.fleet_placement p
  set cell = p_cell, from_cell = p_from_cell, state = p_state, epoch = p.epoch + 1, version = p_version
  where p.queue = p_move.queue and p.partition = any(p_move.partitions);
  perform signalbox._note_placement(array[p_move.queue]);
end $$;
