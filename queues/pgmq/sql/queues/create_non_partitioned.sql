-- create_non_partitioned(queue_name): make a queue, as create does.
create or replace function pgmq.create_non_partitioned(queue_name text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.create(create_non_partitioned.queue_name)
$$;
