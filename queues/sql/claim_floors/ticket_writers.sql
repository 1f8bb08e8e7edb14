-- ticket_writers(): the transactions that hold a writer's lock on a table of tickets or hints. Prepared transactions
-- start with 'prepared '.
create or replace function signalbox.ticket_writers() returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    array_agg(distinct case when l.pid is null then 'prepared ' else '' end || l.virtualtransaction), '{}'
  )
  from pg_locks l
  where l.locktype = 'relation'
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.relation in ('signalbox.ready'::regclass, 'signalbox.lease'::regclass, 'signalbox.scheduled'::regclass,
      'signalbox.waiting'::regclass, 'signalbox.lane_hint'::regclass)
    and l.mode = 'RowExclusiveLock'
    and l.granted
    and l.pid is distinct from pg_backend_pid()
$$;
