-- Dead letters in the trash, for the search of an erasure.
select array[t.trash_batch_id, t.position, t.message_id], t.queue_id, t.message_id, t.letter -> 'payload',
  t.letter -> 'attributes', case when t.letter is not null then t.body_sha256 end,
  (t.letter ->> 'sent_at')::timestamptz
from signalbox.trash t
where (t.trash_batch_id, t.position, t.message_id) > (%(after0)s::bigint, %(after1)s::bigint, %(after2)s::bigint)
order by t.trash_batch_id, t.position, t.message_id
