-- dead_letter_queue_name(queue_id): the name of the queue that keeps a queue's dead letters, or the name that it would
-- get now.
create or replace function signalbox.dead_letter_queue_name(p_queue_id integer) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    d.name,
    case
      when q.is_dead_letter_queue and q.dead_letter_queue is null then q.name
      when signalbox._is_name_taken(coalesce(q.dead_letter_queue, q.name || '-dlq'))
        then signalbox._reserved_name(q.name, q.dead_letter_queue_id)
      else coalesce(q.dead_letter_queue, q.name || '-dlq')
    end
  )
  from signalbox.queue q
  left join signalbox.queue d on d.queue_id = q.dead_letter_queue_id
    and not (q.is_dead_letter_queue and q.dead_letter_queue is null)
  where q.queue_id = p_queue_id
$$;
