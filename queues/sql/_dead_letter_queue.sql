-- The queue that keeps a queue's dead letters: the one its settings name; else, for a dead-letter queue, itself; else
-- '<name>-dlq', made on first need, when it begins with as many letters allowed as the queue has. Never another tenant's:
-- where that has the name, the queue's id is added to it.
create or replace function signalbox._dead_letter_queue(p_queue_id integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  v_queue record;
  v_dead_letter_queue_id integer;
begin
  select coalesce(q.dead_letter_queue, q.name || '-dlq') as dlq_name, q.tenant_id, q.is_dead_letter_queue, q.dead_letter_queue,
    q.alert_dead_letters
  into v_queue
  from signalbox.queue q
  where q.queue_id = p_queue_id;
  if v_queue.is_dead_letter_queue and v_queue.dead_letter_queue is null then
    return p_queue_id;
  end if;
  select q.queue_id into v_dead_letter_queue_id
  from signalbox.queue q
  where q.name = v_queue.dlq_name and q.is_dead_letter_queue and q.tenant_id = v_queue.tenant_id;
  if found then
    return v_dead_letter_queue_id;
  end if;
  v_dead_letter_queue_id := coalesce(
    signalbox._make_dead_letter_queue(v_queue.dlq_name, v_queue.tenant_id),
    signalbox._make_dead_letter_queue(left(v_queue.dlq_name, 88) || '-' || p_queue_id, v_queue.tenant_id)
  );
  update signalbox.queue q set alert_dead_letters = v_queue.alert_dead_letters
  where q.queue_id = v_dead_letter_queue_id and q.alert_dead_letters < v_queue.alert_dead_letters;
  return v_dead_letter_queue_id;
end $$;

-- Make a dead-letter queue, or make one of an ordinary queue of the same tenant; null when another tenant has the name.
create or replace function signalbox._make_dead_letter_queue(p_name text, p_tenant_id integer) returns integer
language plpgsql
as $$
declare
  v_queue_id integer;
begin
  select q.queue_id into v_queue_id -- it had this name
  from signalbox.queue_alias a
  join signalbox.queue q on q.queue_id = a.queue_id
  where a.name = p_name and q.tenant_id = p_tenant_id and q.is_dead_letter_queue;
  if found then
    return v_queue_id;
  end if;
  insert into signalbox.queue as q (name, tenant_id, is_dead_letter_queue, retention_seconds)
  values (p_name, p_tenant_id, true, 1209600)
  on conflict (name) do update set is_dead_letter_queue = true
  where q.tenant_id = excluded.tenant_id
  returning q.queue_id into v_queue_id;
  if v_queue_id is not null then
    perform signalbox._make_heads(v_queue_id);
  end if;
  return v_queue_id;
end $$;
