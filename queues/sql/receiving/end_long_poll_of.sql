-- end_long_poll_of(tenant_id, place): give back a long poll that begin_long_poll_of took in this session.
create or replace function signalbox.end_long_poll_of(tenant_id integer, place integer) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  select pg_advisory_unlock(signalbox._long_poll_key(end_long_poll_of.tenant_id), end_long_poll_of.place)
$$;
