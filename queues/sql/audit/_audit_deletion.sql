-- Record the deletion of a queue in the audit.
create or replace function signalbox._audit_deletion(p_queue signalbox.queue) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._audit_verb('queue.delete', p_queue.queue_id, p_queue.name, jsonb_build_object('tenant', t.name))
  from signalbox.tenant t
  where t.tenant_id = p_queue.tenant_id
$$;
