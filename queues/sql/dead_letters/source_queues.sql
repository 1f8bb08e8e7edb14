-- source_queues(queue_id): the queues whose dead letters a queue keeps, or kept before their settings changed, by id
-- and without the queue itself. Indexes: queue_dead_letter_queue, former_dead_letter_queue_pkey.
create or replace function signalbox.source_queues(p_queue_id integer) returns setof integer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select q.queue_id
  from signalbox.queue q
  where q.dead_letter_queue_id = p_queue_id and q.queue_id <> p_queue_id
    and not (q.is_dead_letter_queue and q.dead_letter_queue is null)
  union
  select f.source_queue_id
  from signalbox.former_dead_letter_queue f
  where f.queue_id = p_queue_id and f.source_queue_id <> p_queue_id
$$;
