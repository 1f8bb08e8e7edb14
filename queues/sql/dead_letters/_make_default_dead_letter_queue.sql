-- Make the queue whose id is reserved for the dead letters of a queue, or mark the ordinary queue that has that id.
-- Returns false when another transaction does so, or holds what is needed: dead letters are kept under the id until the
-- queue is made, by a later death or by make_dead_letter_queues. Never waits: every lock is tried. Names of other
-- queues, current or old, are left alone. Runs with the owner's rights: the role of an application may not lock the
-- table of queues.
create or replace function signalbox._make_default_dead_letter_queue(p_source_queue_id integer, p_queue_id integer)
returns boolean
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source signalbox.queue;
  v_name text;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.make_dead_letter_queue'), p_queue_id) then
    return false;
  end if;
  lock table signalbox.queue in row exclusive mode nowait; -- maintenance locks the table while it begins
  select * into v_source from signalbox.queue q where q.queue_id = p_source_queue_id;
  if v_source.dead_letter_queue_id is distinct from p_queue_id and not exists (
    select from signalbox.former_dead_letter_queue f where f.queue_id = p_queue_id
      and f.source_queue_id = p_source_queue_id
  ) then
    return false;
  end if;
  if exists (select from signalbox.queue q where q.queue_id = p_queue_id) then
    perform from signalbox.queue q where q.queue_id = p_queue_id for no key update skip locked;
    if found then
      update signalbox.queue q
      set is_dead_letter_queue = true, alert_dead_letters = greatest(q.alert_dead_letters, v_source.alert_dead_letters)
      where q.queue_id = p_queue_id and not q.is_dead_letter_queue;
    end if;
    return found;
  end if;
  -- what set_admission_flags takes
  perform from signalbox.tenant t where t.tenant_id = v_source.tenant_id for share skip locked;
  if not found then
    return false;
  end if;
  v_name := coalesce(v_source.dead_letter_queue, v_source.name || '-dlq');
  if not signalbox._try_new_name(v_name) then
    v_name := signalbox._reserved_name(v_source.name, p_queue_id);
    while not signalbox._try_new_name(v_name) loop -- a name given before such names were reserved
      v_name := signalbox._reserved_name(v_source.name, nextval('signalbox.queue_queue_id_seq')::integer);
    end loop;
  end if;
  insert into signalbox.queue (queue_id, name, tenant_id, is_dead_letter_queue, retention_seconds, alert_dead_letters)
  values (p_queue_id, v_name, v_source.tenant_id, true, 1209600, v_source.alert_dead_letters);
  perform signalbox._make_claim_floors(p_queue_id);
  return true;
exception
  -- Maintenance is beginning, another transaction has made the queue, or the lock table is full.
  when lock_not_available or unique_violation or out_of_memory then
    return false;
end $$;
revoke execute on function signalbox._make_default_dead_letter_queue(integer, integer) from public;
