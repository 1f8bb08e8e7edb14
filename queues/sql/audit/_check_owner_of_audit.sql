-- Refuse a caller that is no member of the role that owns the audit.
create or replace function signalbox._check_owner_of_audit() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from pg_class c where c.oid = 'signalbox.audit_event'::regclass and pg_has_role(c.relowner, 'member');
  if not found then
    raise exception using
      errcode = 'insufficient_privilege',
      message = 'only the owner of the audit may prune it';
  end if;
end $$;
