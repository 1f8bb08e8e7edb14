-- Those of these dead letters that died in a queue of a tenant.
select d.dead_letter_id
from signalbox.dead_letter d
join signalbox.queue q on q.queue_id = d.source_queue_id
join signalbox.tenant t on t.tenant_id = q.tenant_id
where d.dead_letter_id = any(%s::bigint[]) and t.name = %s
