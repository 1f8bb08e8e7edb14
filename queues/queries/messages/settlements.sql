-- How a message ended in each of these queues, at most ten times.
select s.outcome::text, s.settled_at, s.consumer,
  s.receive_counts[array_position(s.message_ids, %(message_id)s)],
  s.work_ms[array_position(s.message_ids, %(message_id)s)],
  s.queue_id,
  s.results[array_position(s.message_ids, %(message_id)s)]::text
from signalbox.settled s
where s.queue_id = any(%(queue_ids)s)
  and s.settled_at >= coalesce(%(sent_at)s::timestamptz, '-infinity')
  and s.message_ids[1] <= %(message_id)s
  and s.message_ids[cardinality(s.message_ids)] >= %(message_id)s
  and %(message_id)s = any(s.message_ids)
order by s.settled_at
limit 10
