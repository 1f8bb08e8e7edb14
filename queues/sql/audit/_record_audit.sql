-- Add one row to the audit; returns it. It is the only way in for a role that does not own the audit, since such a role
-- has no right on the table. Such a role acts under its own name, `sql:ROLE`, whatever it passes as actor; a member of
-- the owner's role may name a person. Each row also carries the role that logged in and its application_name
-- (_enter_audit), which no caller can pass.
-- Details that clients cannot read are refused: one such row would make the audit unreadable. Runs with the owner's
-- rights, and is not for PUBLIC: `manage.py grants` gives it to applications and brokers.
create or replace function signalbox._record_audit(
  p_actor text, p_action text, p_queue_id integer, p_queue_name text, p_reason text, p_details jsonb
) returns signalbox.audit_event
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_event signalbox.audit_event;
begin
  perform signalbox._check_readable('details', p_details);
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  insert into signalbox.audit_event (actor, action, queue_id, queue_name, reason, details)
  values (
    left(case when p_actor is not null and signalbox._owns_audit() then p_actor else 'sql:' || session_user end, 150),
    left(p_action, 60), p_queue_id, left(coalesce(p_queue_name, ''), 100), left(coalesce(p_reason, ''), 500),
    coalesce(p_details, '{}')
  )
  returning * into v_event;
  return v_event;
end $$;
revoke execute on function signalbox._record_audit(text, text, integer, text, text, jsonb) from public;
