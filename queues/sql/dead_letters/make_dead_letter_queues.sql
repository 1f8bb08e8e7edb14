-- make_dead_letter_queues(): make dead-letter queues that have dead letters and no row yet, because the transaction
-- that made the row was rolled back or held what it needs. Never waits. Returns how many. Indexes: queue_pkey,
-- dead_letter_queue.
create or replace function signalbox.make_dead_letter_queues() returns bigint
language sql volatile
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
  select count(*) filter (where signalbox._make_default_dead_letter_queue(s.source_queue_id, s.queue_id))
  from (
    select q.queue_id as source_queue_id, q.dead_letter_queue_id as queue_id from signalbox.queue q
    union
    select f.source_queue_id, f.queue_id from signalbox.former_dead_letter_queue f
  ) s
  where not exists (select from signalbox.queue d where d.queue_id = s.queue_id and d.is_dead_letter_queue)
    and exists (select from signalbox.dead_letter l where l.queue_id = s.queue_id)
    and exists (select from signalbox.queue q where q.queue_id = s.source_queue_id)
$$;
