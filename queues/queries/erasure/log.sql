-- Messages in the log, for the search of an erasure: one segment after another, each in the order of its key.
select array[%(after0)s::bigint, t.queue_id, t.message_id], t.queue_id, t.message_id, t.payload, t.attributes,
  t.body_sha256, t.sent_at
from signalbox.message t
where t.message_id > %(after0)s::bigint * 1000000 and t.message_id <= (%(after0)s::bigint + 1) * 1000000
  and (t.queue_id, t.message_id) > (%(after1)s::bigint, %(after2)s::bigint) and t.message_id <= %(through_message_id)s
order by t.queue_id, t.message_id
