-- begin_long_poll(queue): take one of the long polls that the queue's tenant may have (tenant.max_long_polls), before a
-- consumer waits on this connection. Returns its number, or null where the tenant has no such limit. Give it back with
-- end_long_poll; a connection that ends gives it back by itself, since it is an advisory lock of the session. Several
-- waits on one connection share it. Needs a session of its own: behind a pooler in transaction mode the lock would
-- change sessions.
create or replace function signalbox.begin_long_poll(queue text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant signalbox.tenant;
begin
  select t.*
  into v_tenant
  from signalbox.queue q
  join signalbox.tenant t on t.tenant_id = q.tenant_id
  where q.name = begin_long_poll.queue;
  if not found then
    return signalbox.begin_long_poll(signalbox._renamed(begin_long_poll.queue));
  end if;
  return signalbox._begin_long_poll(v_tenant, '{}');
end $$;
