-- create_unlogged(queue_name): make a queue, as create does: its messages are durable.
create or replace function pgmq.create_unlogged(queue_name text) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select pgmq.create(create_unlogged.queue_name)
$$;
