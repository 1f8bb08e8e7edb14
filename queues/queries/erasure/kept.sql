-- Bodies that outlived their segment of the log, for the search of an erasure.
select array[t.queue_id, t.message_id], t.queue_id, t.message_id, t.payload, t.attributes, t.body_sha256, t.sent_at
from signalbox.message_kept t
where (t.queue_id, t.message_id) > (%(after0)s::bigint, %(after1)s::bigint) and t.message_id <= %(through_message_id)s
order by t.queue_id, t.message_id
