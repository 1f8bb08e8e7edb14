-- Return whether no sender has the turn of this FIFO group at this moment. Never waits, and releases the lock at once,
-- as _reserve does.
create or replace function signalbox._turn_is_free(p_queue_id integer, p_lane text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_free boolean;
begin
  begin
    v_free := pg_try_advisory_xact_lock_shared(signalbox._fifo_turn(p_queue_id, p_lane));
    raise exception using errcode = 'SB000';
  exception
    when sqlstate 'SB000' then
      return v_free;
  end;
end $$;
