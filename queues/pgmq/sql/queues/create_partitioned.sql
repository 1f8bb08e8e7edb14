-- create_partitioned(queue_name, ...): make a queue, as create does. The log of messages has its own partitions, so the
-- other arguments have no effect.
create or replace function pgmq.create_partitioned(
  queue_name text,
  partition_interval text default '10000',
  retention_interval text default '100000',
  premake integer default 4
) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.create(create_partitioned.queue_name)
$$;
