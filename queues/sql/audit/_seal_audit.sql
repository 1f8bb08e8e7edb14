-- Chain a row of the audit when its transaction commits. A deferred trigger draws the next position from the one row of
-- audit_head, whose lock is held for the length of a commit and not of an action, and writes both hashes. The chain has
-- no gap, its order is the order of commits, and no verb waits for an open transaction. The trigger's name sorts behind
-- those of foreign keys, so that their waits come first.
-- A prepared transaction would hold the row until it is committed, and keep every other action from committing: it is
-- refused. In repeatable read a second commit fails with 40001 and must be tried again (queues/counters/recount.py).
-- Runs with the owner's rights: the committing role needs none on the audit. Where the head does not fit the chain (its
-- row is missing, it is behind the last row, or far beyond), the audit was changed by hand: actions continue behind the
-- last row, and where rows may have been removed from the end one position is left out, which verify reports
-- permanently.
create or replace function signalbox._seal_audit() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  c_highest constant bigint := 1000000000000000000;
  v_position bigint;
  v_before bytea;
  v_hash bytea;
  v_last record;
begin
  if current_query() ~* '^(\s|/\*([^*]|\*[^/])*\*/|--[^\n]*\n)*prepare\s+transaction\s' then
    raise exception using
      errcode = 'feature_not_supported',
      message = 'this transaction has written a row of the audit and cannot be prepared',
      hint = 'Call what changes queues, or removes or redrives messages, in a transaction of its own.';
  end if;
  -- holds it until the commit
  update signalbox.audit_head h set hash = h.hash returning h.position, h.hash into v_position, v_before;
  select l.position, l.hash
  into v_last
  from (
    (
      select e.position, e.hash
      from signalbox.audit_event e
      where e.position is not null
      order by e.position desc
      limit 1
    )
    union all
    (select a.position, a.hash from signalbox.audit_anchor a order by a.position desc limit 1)
    union all
    select 0, decode(repeat('00', 32), 'hex')
  ) l
  order by l.position desc
  limit 1;
  if v_position is null or v_position > c_highest then
    v_position := v_last.position + 1;
    v_before := v_last.hash;
    delete from signalbox.audit_head;
    insert into signalbox.audit_head (position, hash) values (v_position, v_before);
  elsif v_position < v_last.position then
    v_position := v_last.position;
    v_before := v_last.hash;
  end if;
  v_position := v_position + 1;
  update signalbox.audit_event e
  set position = v_position, previous_hash = v_before, hash = signalbox._audit_hash(e, v_position, v_before)
  where e.audit_event_id = new.audit_event_id
  returning e.hash into strict v_hash;
  update signalbox.audit_head h set position = v_position, hash = v_hash;
  return null;
end $$;
-- A role that may execute a trigger function can put it on a table of its own, and run it with columns of its own
-- types.
revoke execute on function signalbox._seal_audit() from public;
drop trigger if exists zz_audit_seal on signalbox.audit_event;
create constraint trigger zz_audit_seal after insert on signalbox.audit_event
  deferrable initially deferred for each row execute function signalbox._seal_audit();
