-- Refuse changes of the audit's anchors. The owner adds them in order, each for an existing row, and never changes
-- them.
create or replace function signalbox._keep_anchors() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'INSERT' then
    perform signalbox._check_owner_of_audit();
    perform from signalbox.audit_event e
    where e.position = new.position and e.hash = new.hash
      and e.position > coalesce((select max(a.position) from signalbox.audit_anchor a), 0);
    if found then
      return new;
    end if;
  end if;
  raise exception using
    errcode = 'insufficient_privilege',
    message = 'anchors of the audit are only ever added, each for a row that is there',
    hint = 'docs/operate/audit.md says how rows are pruned.';
end $$;

create or replace trigger anchor_keep before insert or update or delete on signalbox.audit_anchor
  for each row execute function signalbox._keep_anchors();
create or replace trigger anchor_keep_all before truncate on signalbox.audit_anchor
  for each statement execute function signalbox._keep_anchors();
