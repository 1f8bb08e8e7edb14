-- The id of the queue that keeps a queue's dead letters (queue.dead_letter_queue_id; a dead-letter queue that names no
-- other keeps its own). The id is reserved when the queue is made, and the dead-letter queue itself is made on first
-- need. A death uses the id whether or not the row exists yet, and never waits for the transaction that makes it.
create or replace function signalbox._dead_letter_queue(p_queue_id integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dead_letter_queue_id integer;
  v_held_id integer;
begin
  loop
    select case when q.is_dead_letter_queue and q.dead_letter_queue is null then q.queue_id
      else q.dead_letter_queue_id end
    into v_dead_letter_queue_id
    from signalbox.queue q
    where q.queue_id = p_queue_id;
    exit when v_dead_letter_queue_id is not distinct from v_held_id; -- unchanged now that the lock is held
    perform signalbox._keep_queue(v_dead_letter_queue_id);
    v_held_id := v_dead_letter_queue_id;
  end loop;
  perform from signalbox.queue q where q.queue_id = v_dead_letter_queue_id and q.is_dead_letter_queue;
  if not found then
    perform signalbox._make_default_dead_letter_queue(p_queue_id, v_dead_letter_queue_id);
  end if;
  return v_dead_letter_queue_id;
end $$;
