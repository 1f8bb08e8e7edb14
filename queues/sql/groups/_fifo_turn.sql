-- The key of the advisory lock by which senders to one FIFO group take turns, from before their message's place is
-- drawn until they commit: the order of places is then the order of commits.
create or replace function signalbox._fifo_turn(p_queue_id integer, p_group_id text) returns bigint
language sql immutable
begin atomic
  select hashtextextended(p_queue_id || ':' || coalesce(p_group_id, ''), 1);
end;
