-- Refuse changes of the audit's rows. Sealing may change a row without a position, and prune_audit may delete rows
-- before an anchor: those were exported, and the chain is verified from the anchor on.
create or replace function signalbox._keep_audit() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    if old.position is null and new.position is not null
      and to_jsonb(new) - array['position', 'previous_hash', 'hash'] = to_jsonb(old)
        - array['position', 'previous_hash', 'hash']
    then
      return new;
    end if;
  elsif tg_op = 'DELETE' then
    if old.position <= (select max(a.position) from signalbox.audit_anchor a) then
      return old;
    end if;
  end if;
  raise exception using
    errcode = 'insufficient_privilege',
    message = 'the audit is only ever added to',
    hint = 'docs/operate/audit.md says why, and how to move it elsewhere.';
end $$;
create or replace trigger audit_keep before update or delete on signalbox.audit_event
  for each row execute function signalbox._keep_audit();
create or replace trigger audit_keep_all before truncate on signalbox.audit_event
  for each statement execute function signalbox._keep_audit();
