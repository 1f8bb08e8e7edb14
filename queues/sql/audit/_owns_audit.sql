-- Return whether the role that logged in may name people in the audit: members of the role that owns the audit may.
create or replace function signalbox._owns_audit() returns boolean
language sql stable
set search_path = pg_catalog, signalbox, pg_temp
as $$
  select pg_has_role(session_user, c.relowner, 'member') from pg_class c where c.oid = 'signalbox.audit_event'::regclass
$$;
