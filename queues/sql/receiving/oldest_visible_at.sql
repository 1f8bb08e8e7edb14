-- oldest_visible_at(queue_id): since when the longest-waiting message of a queue has been visible; null when none is.
-- It is the earliest of the first ready message of each priority, the first due message and the first expired lease: a
-- few index probes from the claim floors.
create or replace function signalbox.oldest_visible_at(queue_id integer) returns timestamptz
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return (select o.at from signalbox._oldest_visible(oldest_visible_at.queue_id) o);
end $$;
