-- Dead letters, for the search of an erasure.
select array[t.dead_letter_id], t.source_queue_id, t.message_id, t.payload, t.attributes, t.body_sha256, t.sent_at
from signalbox.dead_letter t
where t.dead_letter_id > %(after0)s::bigint and t.dead_letter_id <= %(through_dead_letter_id)s
order by t.dead_letter_id
