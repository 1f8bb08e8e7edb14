-- Payloads as they were before a redrive changed them, for the search of an erasure.
select array[t.message_id, t.dead_letter_id],
  (
    select r.queue_id
    from signalbox.redriven r
    where r.message_id = t.message_id and r.dead_letter_id = t.dead_letter_id
    limit 1
  ),
  t.message_id, t.payload, null::jsonb, null::bytea,
  coalesce((
    select k.sent_at
    from signalbox.redriven r
    join signalbox.message_kept k using (queue_id, message_id)
    where r.message_id = t.message_id and r.dead_letter_id = t.dead_letter_id
    limit 1
  ), t.rewritten_at)
from signalbox.rewritten t
where (t.message_id, t.dead_letter_id) > (%(after0)s::bigint, %(after1)s::bigint)
order by t.message_id, t.dead_letter_id
