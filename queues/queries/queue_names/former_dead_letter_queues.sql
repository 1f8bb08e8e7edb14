-- Dead-letter queues that queues used before their settings changed, of queues whose names begin with a text.
select f.queue_id
from signalbox.former_dead_letter_queue f
join signalbox.queue s on s.queue_id = f.source_queue_id
where starts_with(s.name, %s)
