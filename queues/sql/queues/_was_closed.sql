-- Return whether the queue was closed by a committed transaction. No sender sees a closing that is not committed.
create or replace function signalbox._was_closed(p_queue_id integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  -- The row is older than those of this transaction and its savepoints.
  select q.closed and age(q.xmin) > 0 from signalbox.queue q where q.queue_id = p_queue_id
$$;
