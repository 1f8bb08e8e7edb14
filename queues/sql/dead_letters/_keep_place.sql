-- Return the number of a queue's advisory lock: queues share 1,024 of them.
create or replace function signalbox._keep_place(p_queue_id integer) returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select p_queue_id % 1024
$$;
