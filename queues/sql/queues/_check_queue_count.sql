-- Refuse another queue beyond the tenant's max_queues. Two transactions that make a queue of one tenant take turns.
-- Dead-letter queues do not count: a message that dies must always have a place.
create or replace function signalbox._check_queue_count(p_tenant signalbox.tenant) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queues bigint;
begin
  perform from signalbox.tenant t where t.tenant_id = p_tenant.tenant_id for no key update;
  select count(*) into v_queues
  from signalbox.queue q
  where q.tenant_id = p_tenant.tenant_id and not q.is_dead_letter_queue;
  if v_queues >= p_tenant.max_queues then
    perform signalbox._refuse_tenant(p_tenant, 'queues', 'max_queues', p_tenant.max_queues, v_queues + 1, null);
  end if;
end $$;
