-- metrics_all(): the numbers of each queue of list_queues.
create or replace function pgmq.metrics_all() returns setof pgmq.metrics_result
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select m.* from pgmq.list_queues() q, pgmq.metrics(q.queue_name) m
$$;
