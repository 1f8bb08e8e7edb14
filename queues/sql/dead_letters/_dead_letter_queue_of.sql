-- The queue to which a queue's dead letters go by its settings: the queue that they name; otherwise '<name>-dlq' of the
-- same tenant, if that can keep dead letters; otherwise the queue that Signalbox once made for it; otherwise an id that
-- is reserved for one. Null: it keeps its own. For verbs that make or configure a queue: it waits for a transaction
-- that configures the other.
create or replace function signalbox._dead_letter_queue_of(p_queue signalbox.queue) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer;
begin
  if p_queue.is_dead_letter_queue and p_queue.dead_letter_queue is null then
    return null;
  end if;
  select q.queue_id into v_queue_id
  from signalbox.queue q
  where q.name = coalesce(p_queue.dead_letter_queue, p_queue.name || '-dlq') and q.tenant_id = p_queue.tenant_id
    and q.queue_id <> p_queue.queue_id and signalbox._can_keep_dead_letters(q)
  for no key update; -- so that it does not begin to order its groups before the commit
  if found then
    return v_queue_id;
  end if;
  select f.queue_id into v_queue_id
  from signalbox.former_dead_letter_queue f
  left join signalbox.queue q on q.queue_id = f.queue_id
  where f.source_queue_id = p_queue.queue_id and p_queue.dead_letter_queue is null
    and (q.queue_id is null or q.name ~ signalbox._reserved_names() and q.tenant_id = p_queue.tenant_id)
  order by f.queue_id
  limit 1;
  return coalesce(v_queue_id, nextval('signalbox.queue_queue_id_seq')::integer);
end $$;
