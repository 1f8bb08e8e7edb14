-- The first messages of a trash batch by queue and state, and how many cannot be restored because another message
-- holds their deduplication id.
with looked as materialized (
  select t.queue_id, t.message_id, t.state, t.letter is null as is_ticket
  from signalbox.trash t
  where t.trash_batch_id = %s
  order by t.position, t.message_id
  limit %s
)
select q.name, l.state, count(*),
  count(*) filter (where case when l.is_ticket and q.dedup_scope = 'in_flight' then exists (
    select
    from signalbox._body_facts(l.queue_id, l.message_id) b
    join signalbox.dedup_in_flight k on k.queue_id = l.queue_id and k.deduplication_id = b.deduplication_id
  ) else false end),
  coalesce(q.paused, false), coalesce(q.closed, false)
from looked l
left join signalbox.queue q on q.queue_id = l.queue_id
group by q.queue_id, q.name, l.state, q.paused, q.closed
order by count(*) desc, q.name, l.state
