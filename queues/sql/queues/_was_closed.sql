-- Whether the queue was closed by a committed transaction. A closing that is not committed is seen by no sender.
create or replace function signalbox._was_closed(p_queue_id integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  -- Its row is older than this transaction's own rows, those of its savepoints included.
  select q.closed and age(q.xmin) > 0 from signalbox.queue q where q.queue_id = p_queue_id
$$;
