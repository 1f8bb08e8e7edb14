-- Recorded buckets of these queues since a time. The newest row before it stands for a queue that was idle when the
-- time began.
select h.queue_id, h.seconds, h.bucket_at, h.ready, h.scheduled, h.waiting, h.leased, h.dead,
  h.oldest_ready_age_seconds, h.published, h.delivered, h.acked, h.nacked, h.dead_lettered, h.removed
from unnest(%(queue_ids)s::integer[]) q(queue_id)
cross join lateral (
  (
    select * from signalbox.queue_history b
    where b.queue_id = q.queue_id and b.bucket_at < %(since)s
    order by b.bucket_at desc
    limit 1
  )
  union all
  select * from signalbox.queue_history w where w.queue_id = q.queue_id and w.bucket_at >= %(since)s
) h
order by h.queue_id, h.bucket_at
