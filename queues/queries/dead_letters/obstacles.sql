-- Why a redrive left these dead letters: how many have a deduplication id and would go to a queue in which messages
-- hold their ids, and how many belong to a part of a queue that another cell takes.
select
  count(*) filter (where q.dedup_scope = 'in_flight' and d.deduplication_id is not null),
  count(*) filter (
    where q.admission_flags & {flag.is_placed} > 0
      and cardinality(signalbox._redrivable_here(array[d.dead_letter_id], t.queue_id)) = 0
  )
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %(target)s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id)
where d.dead_letter_id = any(%(ids)s::bigint[])
