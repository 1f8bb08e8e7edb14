-- long_polls(tenant_id): how many connections of a tenant hold a long poll. Reads pg_locks once.
create or replace function signalbox.long_polls(tenant_id integer) returns integer
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select count(distinct l.objid)::integer
  from pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 2
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid = (signalbox._long_poll_key(long_polls.tenant_id)::bigint & 4294967295)::oid
$$;
