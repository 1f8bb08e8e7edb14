-- Return the dead letters that this cell may send again to their queue, or to another queue: if the queue is on several
-- cells, only dead letters whose group this cell takes.
create or replace function signalbox._redrivable_here(p_dead_letter_ids bigint[], p_target_queue_id integer)
returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(d.dead_letter_id order by d.dead_letter_id), '{}')
  from signalbox.dead_letter d
  join signalbox.queue q on q.queue_id = coalesce(p_target_queue_id, d.source_queue_id)
  where d.dead_letter_id = any(p_dead_letter_ids)
    and (q.admission_flags & {flag.is_placed} = 0 or signalbox._takes_group(q.name, q.mode, d.group_id))
$$;
