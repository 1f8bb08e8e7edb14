-- Refuse a new name that is reserved for dead letters: of the form '<name>-dlq-<number>', or '<name>-dlq' where another
-- tenant has the queue; and the names of the queues from which Signalbox's workers take their tasks (queues/reach.py),
-- except for the tenant `system`.
create or replace function signalbox._check_reserved_name(p_field text, p_name text, p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name in ('signalbox', 'signalbox-pipeline') and not exists (
    select from signalbox.tenant t where t.tenant_id = p_tenant_id and t.name = 'system'
  ) then
    perform signalbox._refuse(p_field, format(
      '%s is reserved for the tasks of Signalbox''s own workers: choose another name', quote_literal(p_name)
    ));
  end if;
  if p_name ~ signalbox._reserved_names() then
    perform signalbox._refuse(p_field, format(
      '%s is reserved for dead letters: choose a name that does not end in -dlq- and a number', quote_literal(p_name)
    ));
  end if;
  if p_name like '%-dlq' and exists (
    select from signalbox.queue q where q.name = left(p_name, -4) and q.tenant_id is distinct from p_tenant_id
  ) then
    perform signalbox._refuse(p_field, format(
      '%s is reserved for dead letters: choose a name that does not end in -dlq', quote_literal(p_name)
    ));
  end if;
end $$;
