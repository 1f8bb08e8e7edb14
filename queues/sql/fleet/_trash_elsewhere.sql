-- Return the messages of the trash, without dead letters, that belong to a part of a queue that another cell takes.
create or replace function signalbox._trash_elsewhere(p_message_ids bigint[]) returns bigint[]
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(t.message_id), '{}')
  from signalbox.trash t
  join signalbox.queue q on q.queue_id = t.queue_id and q.admission_flags & {flag.is_placed} > 0
  cross join lateral signalbox._body_facts(t.queue_id, t.message_id) b
  where t.message_id = any(p_message_ids) and t.letter is null
    and not signalbox._takes_group(q.name, q.mode, b.group_id)
$$;
