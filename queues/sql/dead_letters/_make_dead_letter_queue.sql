-- Make a dead-letter queue, or turn an ordinary queue of the same tenant into one; null when another tenant has the
-- name. An old name of a dead-letter queue is that queue. Refuses a queue with groups. For verbs that
-- configure: it waits.
create or replace function signalbox._make_dead_letter_queue(p_name text, p_tenant_id integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue signalbox.queue;
  v_queue_id integer;
begin
  perform signalbox._lock_queue_name(p_name);
  select q.* into v_queue
  from signalbox.queue q
  where q.queue_id = coalesce(
    (select n.queue_id from signalbox.queue n where n.name = p_name),
    (select a.queue_id from signalbox.queue_alias a where a.name = p_name)
  )
  for no key update; -- so that it is not deleted before the commit, nor begins to order its groups
  if found then
    if v_queue.tenant_id <> p_tenant_id then
      return null;
    elsif v_queue.name <> p_name and not v_queue.is_dead_letter_queue then
      perform signalbox._refuse(
        'dead_letter_queue', format('%s is the old name of another queue', quote_literal(p_name))
      );
    elsif not signalbox._can_keep_dead_letters(v_queue) then
      perform signalbox._refuse('dead_letter_queue', format(
        '%s orders, limits or shares message groups: a dead-letter queue has mode standard, group_max_in_flight 0 and '
        'fair_groups no',
        quote_literal(p_name)
      ));
    elsif not v_queue.is_dead_letter_queue then
      update signalbox.queue q set is_dead_letter_queue = true where q.queue_id = v_queue.queue_id;
    end if;
    return v_queue.queue_id;
  end if;
  perform signalbox._check_reserved_name('dead_letter_queue', p_name, p_tenant_id);
  v_queue_id := signalbox._id_for_new_queue(p_name, p_tenant_id);
  insert into signalbox.queue (queue_id, name, tenant_id, is_dead_letter_queue, retention_seconds)
  values (v_queue_id, p_name, p_tenant_id, true, 1209600);
  perform signalbox._make_claim_floors(v_queue_id);
  return v_queue_id;
end $$;
