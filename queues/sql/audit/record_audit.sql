-- record_audit(action, queue, reason, details): add a row to the audit, for what an application does beside the verbs.
-- The actor is the role that logged in. Returns the row's id; its position in the chain is assigned at commit.
create or replace function signalbox.record_audit(
  action text, queue text default null, reason text default '', details jsonb default '{}'
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_event signalbox.audit_event;
begin
  if record_audit.action is null or record_audit.action !~ '^[a-z][a-z0-9_.-]{0,59}$' then
    perform signalbox._refuse('action', format(
      'is %s: it must have 1 to 60 lower-case letters, digits, dots, dashes and underscores, and start with a letter',
      coalesce(quote_literal(left(record_audit.action, 60)), 'null')
    ));
  end if;
  if record_audit.details is null or jsonb_typeof(record_audit.details) <> 'object' then
    perform signalbox._refuse('details', 'must be a JSON object');
  end if;
  select * into v_event from signalbox._record_audit(
    null, record_audit.action, (select q.queue_id from signalbox.queue q where q.name = record_audit.queue),
    record_audit.queue,
    record_audit.reason, record_audit.details
  );
  return v_event.audit_event_id;
end $$;
