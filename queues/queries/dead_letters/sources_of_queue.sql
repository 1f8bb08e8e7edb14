-- Names of the queues whose dead letters one queue keeps or kept, without dead-letter queues.
select s.name
from signalbox.source_queues(%s) one(queue_id)
join signalbox.queue s on s.queue_id = one.queue_id
where not s.is_dead_letter_queue
order by s.name
