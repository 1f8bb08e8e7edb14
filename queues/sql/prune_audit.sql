-- prune_audit(through_position, hash, export, export_sha256): remove the oldest rows of the audit, up to one whose hash is this one's and
-- that was written elsewhere with all before it. Returns how many went. What is left is provable as before: the anchor says
-- behind which hash the chain begins, and a row of the chain says so too, in the same transaction: an anchor that no row confirms is
-- found by verify_audit. At least the last row stays. Only for the owner of the audit: whoever may write messages may not prune.
-- One at a time, and nobody who acts waits for it. Index: that of audit_event.position.
create or replace function signalbox.prune_audit(
  through_position bigint, hash bytea, export text, export_sha256 bytea, actor text default 'system'
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_row signalbox.audit_event;
  v_last bigint;
  v_rows bigint;
begin
  if prune_audit.export is null or length(prune_audit.export) not between 1 and 400 then
    perform signalbox._refuse('export', 'must have from 1 to 400 characters: it says where the rows are kept');
  end if;
  perform signalbox._check_owner_of_audit();
  perform pg_advisory_xact_lock(hashtext('signalbox.prune_audit'), 0);
  select h.position into v_last from signalbox.audit_head h;
  if prune_audit.through_position >= v_last then
    perform signalbox._refuse('through_position', format('is %s: the last row, %s, stays', prune_audit.through_position, v_last));
  end if;
  select * into v_row from signalbox.audit_event e where e.position = prune_audit.through_position;
  if not found then
    perform signalbox._refuse('through_position', format('is %s: there is no such row', coalesce(prune_audit.through_position::text, 'null')));
  end if;
  if v_row.hash is distinct from prune_audit.hash then
    perform signalbox._refuse('hash', 'is not that of the row: what was exported is something else');
  end if;
  select count(*) into v_rows from signalbox.audit_event e where e.position <= v_row.position;
  insert into signalbox.audit_anchor (position, hash, rows, through, export, export_sha256)
  values (v_row.position, v_row.hash, v_rows, v_row.at, prune_audit.export, prune_audit.export_sha256);
  perform signalbox._record_audit(
    prune_audit.actor, 'audit.prune', null, '', '',
    signalbox._anchor_facts(v_row.position, v_row.hash, v_rows, prune_audit.export, prune_audit.export_sha256)
  );
  delete from signalbox.audit_event e where e.position <= v_row.position;
  return v_rows;
end $$;

-- What the audit itself says of an anchor.
create or replace function signalbox._anchor_facts(
  p_position bigint, p_hash bytea, p_rows bigint, p_export text, p_export_sha256 bytea
) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'through', p_position, 'hash', encode(p_hash, 'hex'), 'rows', p_rows, 'export', p_export, 'sha256', encode(p_export_sha256, 'hex')
  )
$$;

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

-- Anchors are added by the owner, one behind the other, for a row that is there, and never changed.
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
    hint = 'docs/audit.md says how rows are pruned.';
end $$;

create or replace trigger anchor_keep before insert or update or delete on signalbox.audit_anchor
  for each row execute function signalbox._keep_anchors();
create or replace trigger anchor_keep_all before truncate on signalbox.audit_anchor
  for each statement execute function signalbox._keep_anchors();
