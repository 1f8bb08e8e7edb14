-- Trace contexts of the sends of some of these dead letters.
select d.attributes ->> 'traceparent'
from signalbox.dead_letter d
where d.dead_letter_id = any(%s::bigint[]) and d.attributes ->> 'traceparent' is not null
limit 128
