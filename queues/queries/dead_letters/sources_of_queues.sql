-- (queue, a queue whose dead letters it keeps or kept): the second name is empty for a queue that was deleted.
select h.name, coalesce(s.name, '')
from signalbox.queue h
cross join lateral signalbox.source_queues(h.queue_id) one(queue_id)
left join signalbox.queue s on s.queue_id = one.queue_id
