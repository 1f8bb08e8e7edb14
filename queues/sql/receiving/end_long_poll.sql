-- end_long_poll(queue, place): give back a long poll. Returns false when this connection does not hold it.
create or replace function signalbox.end_long_poll(queue text, place integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_key integer;
begin
  select signalbox._long_poll_key(q.tenant_id) into v_key from signalbox.queue q where q.name = end_long_poll.queue;
  if not found then
    select signalbox._long_poll_key(q.tenant_id) into v_key
    from signalbox.queue_alias a
    join signalbox.queue q on q.queue_id = a.queue_id
    where a.name = end_long_poll.queue;
  end if;
  if not exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.objsubid = 2
      and l.classid = (v_key::bigint & 4294967295)::oid and l.objid = end_long_poll.place::oid
  ) then
    return false; -- without the warning that PostgreSQL gives
  end if;
  return pg_advisory_unlock(v_key, end_long_poll.place);
end $$;
