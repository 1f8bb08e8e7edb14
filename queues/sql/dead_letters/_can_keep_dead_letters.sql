-- Return whether a queue can keep dead letters. They have no groups: a queue that orders, limits or shares groups would
-- hand them out without regard to that.
create or replace function signalbox._can_keep_dead_letters(p_queue signalbox.queue) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_queue.is_dead_letter_queue or p_queue.mode <> 'fifo' and p_queue.group_max_in_flight = 0 and not p_queue.fair_groups
$$;
