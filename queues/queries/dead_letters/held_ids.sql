-- Number of these dead letters whose deduplication id another message holds in the queue to which they would go.
select count(*)
from unnest(%s::bigint[]) given(dead_letter_id)
join signalbox.dead_letter d on d.dead_letter_id = given.dead_letter_id
left join signalbox.queue t on t.name = %s
join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id) and q.dedup_scope = 'in_flight'
where exists (
  select from signalbox.dedup_in_flight k where k.queue_id = q.queue_id and k.deduplication_id = d.deduplication_id
)
