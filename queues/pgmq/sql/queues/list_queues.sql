-- list_queues(): the queues that create has made, here or before the move.
create or replace function pgmq.list_queues() returns setof pgmq.queue_record
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select m.queue_name, m.is_partitioned, m.is_unlogged, m.created_at from pgmq.meta m order by m.queue_name
$$;
