-- mark_floor(token): move the clock forward, then note who may still add a ticket of an earlier time: the transactions
-- that hold a writer's lock on a table of tickets or hints (pg_locks shows them to every role, prepared ones included).
-- The order is the proof: whoever takes the lock after the clock was moved computes a later time. Null: not the leader.
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
    perform setval('signalbox.place_mark', pg_sequence_last_value('signalbox.place'::regclass)); -- likewise for places
  end if;
  return query select v_mark, signalbox.ticket_writers();
end $$;

-- The transactions that hold a writer's lock on a table of tickets or hints; prepared ones start with 'prepared '.
create or replace function signalbox.ticket_writers() returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(distinct case when l.pid is null then 'prepared ' else '' end || l.virtualtransaction), '{}')
  from pg_locks l
  where l.locktype = 'relation'
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.relation in ('signalbox.ready'::regclass, 'signalbox.lease'::regclass, 'signalbox.scheduled'::regclass,
      'signalbox.waiting'::regclass, 'signalbox.lane_hint'::regclass)
    and l.mode = 'RowExclusiveLock'
    and l.granted
    and l.pid is distinct from pg_backend_pid()
$$;
