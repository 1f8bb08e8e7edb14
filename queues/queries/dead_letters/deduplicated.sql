-- Number of these dead letters that have a deduplication id and would go to a queue in which messages hold theirs.
select count(*)
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id) and q.dedup_scope = 'in_flight'
where d.dead_letter_id = any(%s::bigint[]) and d.deduplication_id is not null
