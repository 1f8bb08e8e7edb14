-- Add one row to the audit; returns it. The only way in for a role that does not own the audit: it has no right on the table. Such a role
-- acts under its own name, `sql:ROLE`, whatever it passes as actor; a member of the owner's role may name a person. Each row also
-- carries the role that logged in and its application_name (_enter_audit), which nobody can pass.
-- Details that clients cannot read are refused: one such row would keep everybody from reading the audit.
-- Runs with the owner's rights, and is not for PUBLIC: `manage.py grants` gives it to applications and brokers.
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
    left(p_action, 60), p_queue_id, left(coalesce(p_queue_name, ''), 100), left(coalesce(p_reason, ''), 500), coalesce(p_details, '{}')
  )
  returning * into v_event;
  return v_event;
end $$;
revoke execute on function signalbox._record_audit(text, text, integer, text, text, jsonb) from public;

-- May the role that logged in name people in the audit? Members of the role that owns the audit may.
create or replace function signalbox._owns_audit() returns boolean
language sql stable
set search_path = pg_catalog, signalbox, pg_temp
as $$
  select pg_has_role(session_user, c.relowner, 'member') from pg_class c where c.oid = 'signalbox.audit_event'::regclass
$$;

-- The row of a verb that changes a queue, a stream or what belongs to them. Who acts, and why, is what the service noted for this
-- transaction in signalbox.acting (queues/audit.py), a JSON object; only a member of the owner's role is believed. For everybody else
-- the actor is the role, with no reason.
create or replace function signalbox._audit_verb(p_action text, p_queue_id integer, p_queue_name text, p_details jsonb) returns void
language plpgsql
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_acting jsonb := case when signalbox._owns_audit() then nullif(current_setting('signalbox.acting', true), '')::jsonb end;
begin
  perform signalbox._record_audit(
    v_acting ->> 'actor', p_action, p_queue_id, p_queue_name, v_acting ->> 'reason', p_details || coalesce(v_acting -> 'details', '{}')
  );
end $$;

-- The row of configure_queue: the value of each setting before and after, where it differs. None when nothing does, or when the row
-- before, of this same transaction, says that the queue was made with just these values.
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
    perform signalbox._audit_verb('queue.configure', p_queue.queue_id, p_queue.name, jsonb_build_object('changes', v_changes));
  end if;
end $$;

create or replace function signalbox._audit_deletion(p_queue signalbox.queue) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._audit_verb('queue.delete', p_queue.queue_id, p_queue.name, jsonb_build_object('tenant', t.name))
  from signalbox.tenant t
  where t.tenant_id = p_queue.tenant_id
$$;

create or replace function signalbox._audit_renaming(p_queue signalbox.queue, p_name text, p_grace_seconds double precision) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._audit_verb(
    'queue.rename', p_queue.queue_id, p_name, jsonb_build_object('before', p_queue.name, 'after', p_name, 'grace_seconds', p_grace_seconds)
  )
$$;

-- The row of a verb that changes a stream, which the audit knows by its name.
create or replace function signalbox._audit_stream(p_action text, p_stream text, p_details jsonb) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select signalbox._audit_verb(p_action, null, null, jsonb_build_object('stream', p_stream) || p_details)
$$;

-- A row without a place in the chain that is visible here is of this transaction. Index: audit_event_queue.
create or replace function signalbox._was_just_made(p_queue_id integer, p_settings jsonb) returns boolean
language sql stable
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
  select coalesce((
    select e.position is null and e.action = 'queue.create' and e.details -> 'settings' @> p_settings
    from signalbox.audit_event e
    where e.queue_id = p_queue_id
    order by e.audit_event_id desc
    limit 1
  ), false)
$$;
revoke execute on function signalbox._was_just_made(integer, jsonb) from public;

-- record_audit(action, queue, reason, details): add a row of one's own to the audit, for what an application does beside the verbs. The
-- actor is the role that logged in. Returns the row's id; its place in the chain is given at commit.
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
    null, record_audit.action, (select q.queue_id from signalbox.queue q where q.name = record_audit.queue), record_audit.queue,
    record_audit.reason, record_audit.details
  );
  return v_event.audit_event_id;
end $$;
