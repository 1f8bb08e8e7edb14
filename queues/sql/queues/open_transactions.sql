-- open_transactions(): the transactions of this database that are open at this moment, except the caller's. Prepared
-- transactions start with 'prepared '.
create or replace function signalbox.open_transactions() returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    array_agg(distinct case when l.pid is null then 'prepared ' else '' end || l.virtualtransaction), '{}'
  )
  from pg_locks l
  left join pg_stat_activity a on a.pid = l.pid
  where l.mode = 'ExclusiveLock'
    and l.locktype in ('virtualxid', 'transactionid')
    and l.granted
    and l.pid is distinct from pg_backend_pid()
    and (l.pid is null or a.datname = current_database() and a.backend_type not like 'autovacuum%')
$$;
