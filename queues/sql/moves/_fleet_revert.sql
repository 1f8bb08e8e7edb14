-- Give the partitions of a move back to the old cell, before the new one takes any. The move begins again later, or is
-- cancelled. Returns false once the new cell takes sends. In the directory's home only.
create or replace function signalbox._fleet_revert(move_id integer, problem text, cancelled boolean) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_version bigint := signalbox._next_version();
  v_was_closing boolean;
  v_move signalbox.fleet_move;
begin
  select m.state = 'closing' into v_was_closing
  from signalbox.fleet_move m
  where m.move_id = _fleet_revert.move_id and m.state in ('preparing', 'closing') and m.ended_at is null;
  if not found then
    return false;
  end if;
  update signalbox.fleet_move m
  set state = case when _fleet_revert.cancelled then 'cancelled' else 'preparing' end,
    problem = _fleet_revert.problem,
    paused = m.paused or not _fleet_revert.cancelled,
    ended_at = case when _fleet_revert.cancelled then clock_timestamp() end
  where m.move_id = _fleet_revert.move_id
  returning * into v_move;
  if v_was_closing then
    perform signalbox._place(v_move, v_move.from_cell, null, 'settled', v_version);
  end if;
  return true;
end $$;
