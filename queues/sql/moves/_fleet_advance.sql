-- Take a move from this state to its next, with the placement of its partitions: preparing
-- to closing, where no cell takes sends; to draining, where the new cell does; to done. Returns false when the move was
-- in another state: losing that race is no error. In the directory's home only. Each step is one statement, so a runner
-- that ends between two leaves a move that the next one goes on with.
create or replace function signalbox._fleet_advance(move_id integer, state text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_version bigint := signalbox._next_version();
  v_move signalbox.fleet_move;
begin
  update signalbox.fleet_move m
  set state = case m.state when 'preparing' then 'closing' when 'closing' then 'draining' else 'done' end,
    problem = '',
    drained_since = case m.state when 'closing' then clock_timestamp() else m.drained_since end,
    ended_at = case m.state when 'draining' then clock_timestamp() end
  where m.move_id = _fleet_advance.move_id and m.state = _fleet_advance.state and m.ended_at is null
  returning * into v_move;
  if not found then
    return false;
  end if;
  perform signalbox._place(
    v_move, v_move.to_cell, v_move.from_cell, case v_move.state when 'done' then 'settled' else v_move.state end,
    v_version
  );
  return true;
end $$;
