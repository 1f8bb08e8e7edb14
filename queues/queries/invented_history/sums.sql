-- History of each tenant and of all queues together, as sums over their queues.
insert into signalbox.{table} (
  queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead,
  ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at,
  oldest_ready_age_seconds,
  added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, waits, work
)
select coalesce(-q.tenant_id, 0), h.bucket_at, max(h.seconds), sum(h.ready), sum(h.scheduled), sum(h.waiting),
  sum(h.leased), sum(h.dead), sum(h.ready_highest), sum(h.scheduled_highest), sum(h.waiting_highest),
  sum(h.leased_highest), sum(h.dead_highest),
  min(h.oldest_visible_at), max(h.oldest_ready_age_seconds),
  sum(h.added), sum(h.removed), sum(h.published), sum(h.delivered), sum(h.redelivered), sum(h.acked), sum(h.nacked),
  sum(h.lease_expired), sum(h.dead_lettered),
  {duration.sums:h.waits},
  {duration.sums:h.work}
from signalbox.{table} h
join signalbox.queue q on q.queue_id = h.queue_id
group by h.bucket_at, grouping sets ((q.tenant_id), ())
