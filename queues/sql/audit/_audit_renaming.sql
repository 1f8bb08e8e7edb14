-- Record in the audit that a queue was renamed.
create or replace function signalbox._audit_renaming(
  p_queue signalbox.queue, p_name text, p_grace_seconds double precision
) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._audit_verb(
    'queue.rename', p_queue.queue_id, p_name,
    jsonb_build_object('before', p_queue.name, 'after', p_name, 'grace_seconds', p_grace_seconds)
  )
$$;
