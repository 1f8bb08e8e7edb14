-- The tenant of a queue, and whether its long polls are limited.
select t.tenant_id, t.max_long_polls > 0
from signalbox.queue q
join signalbox.tenant t using (tenant_id)
where q.name = %s
