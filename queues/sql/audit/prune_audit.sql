-- prune_audit(through_position, hash, export, export_sha256): delete the oldest rows of the audit, up to a row that was
-- exported with all rows before it. Returns how many rows it deleted. The rest stays provable: an anchor holds the hash
-- before the first row that is left, and a row of the chain confirms the anchor in the same transaction. verify_audit
-- finds an anchor that no row confirms. The last row always stays.
-- Only the owner of the audit may call it. One call runs at a time, and no verb waits for it. Index: that of
-- audit_event.position.
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
    perform signalbox._refuse(
      'through_position', format('is %s: the last row, %s, stays', prune_audit.through_position, v_last)
    );
  end if;
  select * into v_row from signalbox.audit_event e where e.position = prune_audit.through_position;
  if not found then
    perform signalbox._refuse(
      'through_position', format('is %s: there is no such row', coalesce(prune_audit.through_position::text, 'null'))
    );
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
