-- A queue by its name, or by a former name that still works: its id, its tenant, the queues whose dead letters it
-- keeps, its present name, and the wait of a receive that names none.
select q.queue_id, t.name, case when q.is_dead_letter_queue then array(
    select s.name
    from signalbox.source_queues(q.queue_id) source(queue_id)
    join signalbox.queue s on s.queue_id = source.queue_id
  ) else '{}' end, q.name, q.receive_wait_seconds
from signalbox.queue q
join signalbox.tenant t using (tenant_id)
where q.queue_id = coalesce(
  (select n.queue_id from signalbox.queue n where n.name = %(name)s),
  (select a.queue_id from signalbox.queue_alias a where a.name = %(name)s and a.works_until > clock_timestamp())
)
