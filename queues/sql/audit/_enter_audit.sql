-- Fill in a new row of the audit, whatever values it comes with: the role that logged in, its application_name, and no
-- position, since a position that a caller chose would break the chain.
create or replace function signalbox._enter_audit() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.position := null;
  new.previous_hash := null;
  new.hash := null;
  new.database_role := session_user;
  new.application_name := coalesce(current_setting('application_name', true), '');
  return new;
end $$;

create or replace trigger audit_enter before insert on signalbox.audit_event
  for each row execute function signalbox._enter_audit();
