-- begin_long_poll_of(tenant_id, held): take another long poll beside those that this session holds, in ascending order:
-- for a process that waits for many consumers on one connection. end_long_poll_of gives it back, even after the queue
-- was deleted.
create or replace function signalbox.begin_long_poll_of(tenant_id integer, held integer[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant signalbox.tenant;
begin
  select t.* into v_tenant from signalbox.tenant t where t.tenant_id = begin_long_poll_of.tenant_id;
  return signalbox._begin_long_poll(v_tenant, signalbox._as_list('held', begin_long_poll_of.held));
end $$;
