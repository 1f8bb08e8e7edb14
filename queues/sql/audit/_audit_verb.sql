-- Write the audit's row of a verb that changes a queue, a stream or what belongs to it. Actor and reason are those that
-- the service noted for this transaction in signalbox.acting (queues/audit/__init__.py), a JSON object; only a member
-- of the owner's role is believed. For all others the actor is the role, without a reason.
create or replace function signalbox._audit_verb(p_action text, p_queue_id integer, p_queue_name text, p_details jsonb)
returns void
language plpgsql
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_acting jsonb := case when signalbox._owns_audit()
    then nullif(current_setting('signalbox.acting', true), '')::jsonb end;
begin
  perform signalbox._record_audit(
    v_acting ->> 'actor', p_action, p_queue_id, p_queue_name, v_acting ->> 'reason',
    p_details || coalesce(v_acting -> 'details', '{}')
  );
end $$;
