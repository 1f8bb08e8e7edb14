-- The prepared transactions that have put messages into any queue, as open_transactions() names them. One of them may
-- have been open, under another name and not yet prepared, when a queue was closed.
create or replace function signalbox._prepared_messages() returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(distinct 'prepared ' || l.virtualtransaction), '{}')
  from pg_locks l
  where l.pid is null and l.mode = 'RowExclusiveLock' and l.granted
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.relation in (
      'signalbox.ready'::regclass, 'signalbox.scheduled'::regclass, 'signalbox.waiting'::regclass,
      'signalbox.dead_letter'::regclass
    )
$$;
