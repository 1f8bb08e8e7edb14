-- The audit is a chain that only grows. A row is chained when its transaction commits: a deferred trigger draws the next
-- position from the one row of audit_head, whose lock is thereby held for the length of a commit and not of an action, and
-- writes both hashes. So the chain has no gap, its order is the order of commits, and nobody waits for an open transaction.
-- The trigger's name sorts behind those of foreign keys: what they may wait for, they wait for first.
-- A transaction that is prepared would hold it until it is committed, and keep every other action from committing: it is refused.
-- In repeatable read a commit that comes second fails with 40001 and is to be tried again (queues/recounting.py).
-- Runs with the owner's rights: whoever commits needs none on the audit. Where the head does not fit the chain (its row is gone, it is
-- behind the last row, or beyond all reason), somebody has been at it: actions go on behind the last row, and where rows may have
-- been taken from the end a place is left out, which verify reports for good.
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
  update signalbox.audit_head h set hash = h.hash returning h.position, h.hash into v_position, v_before; -- holds it until the commit
  select l.position, l.hash
  into v_last
  from (
    (select e.position, e.hash from signalbox.audit_event e where e.position is not null order by e.position desc limit 1)
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
-- A role that may execute a trigger function can put it on a table of its own, and run it with columns of its own types.
revoke execute on function signalbox._seal_audit() from public;

-- What a row's hash is of: the hash before, and every field in one text. Times are whole microseconds. Rows from before audit rows
-- named the role have two fields fewer.
create or replace function signalbox._audit_hash(p_event signalbox.audit_event, p_position bigint, p_before bytea) returns bytea
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select sha256(p_before || convert_to((jsonb_build_array(
    p_position, p_event.audit_event_id, (extract(epoch from p_event.at) * 1000000)::bigint, p_event.actor, p_event.action,
    p_event.queue_id, p_event.queue_name, p_event.reason, p_event.details
  ) || case when p_event.database_role is null then '[]' else jsonb_build_array(p_event.database_role, p_event.application_name) end)::text, 'UTF8'))
$$;

-- Rows are never changed, but for the sealing of one that has no place in the chain yet, and never removed, but for those before
-- an anchor (prune_audit): these were written elsewhere, and the chain is proved from there on.
create or replace function signalbox._keep_audit() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    if old.position is null and new.position is not null
      and to_jsonb(new) - array['position', 'previous_hash', 'hash'] = to_jsonb(old) - array['position', 'previous_hash', 'hash']
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
    hint = 'docs/audit.md says why, and how to move it elsewhere.';
end $$;

-- A row comes without a place: whoever brings one of his own would break the chain for everybody. It says which role logged in, and what
-- its session calls itself, whatever the row said.
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
create or replace trigger audit_keep before update or delete on signalbox.audit_event
  for each row execute function signalbox._keep_audit();
create or replace trigger audit_keep_all before truncate on signalbox.audit_event
  for each statement execute function signalbox._keep_audit();
drop trigger if exists zz_audit_seal on signalbox.audit_event;
create constraint trigger zz_audit_seal after insert on signalbox.audit_event
  deferrable initially deferred for each row execute function signalbox._seal_audit();
