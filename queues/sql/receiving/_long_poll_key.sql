-- The advisory lock's key for long polls of a tenant. Inlined by the planner.
create or replace function signalbox._long_poll_key(p_tenant_id integer) returns integer
language sql immutable
begin atomic
  select hashtext('signalbox.long_poll.' || p_tenant_id);
end;
