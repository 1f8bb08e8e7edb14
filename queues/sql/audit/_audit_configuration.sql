-- Write the audit's row of configure_queue: each setting that changed, before and after. No row when nothing changed,
-- or when an earlier row of this transaction says that the queue was made with these values.
create or replace function signalbox._audit_configuration(p_queue signalbox.queue, p_settings jsonb) returns void
language plpgsql
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_changes jsonb := (
    select jsonb_object_agg(s.key, jsonb_build_object('before', to_jsonb(p_queue) -> s.key, 'after', s.value))
    from jsonb_each(p_settings) s
    where to_jsonb(p_queue) -> s.key is distinct from s.value
  );
begin
  if v_changes is not null and not signalbox._was_just_made(p_queue.queue_id, p_settings) then
    perform signalbox._audit_verb(
      'queue.configure', p_queue.queue_id, p_queue.name, jsonb_build_object('changes', v_changes)
    );
  end if;
end $$;
