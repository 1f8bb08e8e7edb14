-- Payloads of these dead letters, whether each is in a body store, and the largest payload that the destination
-- accepts.
select d.dead_letter_id, d.payload::text, d.body_sha256 is not null, coalesce(q.max_payload_bytes, 262144)
from signalbox.dead_letter d
left join signalbox.queue t on t.name = %s
left join signalbox.queue q on q.queue_id = coalesce(t.queue_id, d.source_queue_id)
where d.dead_letter_id = any(%s::bigint[])
order by d.dead_letter_id
