-- mark_floor(token): move the clock forward, then note the transactions that may still add a ticket with an earlier
-- time: those that hold a writer's lock on a table of tickets or hints. pg_locks shows them to every role, prepared
-- transactions included. The order is the proof: a transaction that takes the lock after the clock has moved computes a
-- later time. Returns null when the caller is not the leader.
create or replace function signalbox.mark_floor(token uuid) returns table (mark bigint, holders text[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_mark bigint;
begin
  if not signalbox._leads(mark_floor.token) then
    return;
  end if;
  v_mark := setval('signalbox.clock', greatest(
    (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    coalesce(pg_sequence_last_value('signalbox.clock'::regclass), 0)
  ));
  if pg_sequence_last_value('signalbox.place'::regclass) > pg_sequence_last_value('signalbox.place_mark'::regclass) then
    perform setval('signalbox.place_mark', pg_sequence_last_value('signalbox.place'::regclass)); -- the same for places
  end if;
  return query select v_mark, signalbox.ticket_writers();
end $$;
