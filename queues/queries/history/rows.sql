-- The step is a constant of the statement, so the plan reads only one of the three tables.
-- Index: the primary key of each.
with h as not materialized (
  select h.* from signalbox.queue_history h where %(kept)s = 10
  union all
  select h.* from signalbox.queue_history_minute h where %(kept)s = 60
  union all
  select h.* from signalbox.queue_history_ten_minutes h where %(kept)s = 600
)
select g.*, l.ready, l.scheduled, l.waiting, l.leased, l.dead, l.oldest_visible_at
from (
  select h.queue_id, date_bin(%(step)s * interval '1 second', h.bucket_at, timestamptz '2000-01-01 00:00+00') as at,
    max(h.bucket_at) as last_at, max(h.oldest_ready_age_seconds) as oldest_ready_age_seconds,
    max(coalesce(h.ready_highest, h.ready)) as ready_highest,
    max(coalesce(h.scheduled_highest, h.scheduled)) as scheduled_highest,
    max(coalesce(h.waiting_highest, h.waiting)) as waiting_highest,
    max(coalesce(h.leased_highest, h.leased)) as leased_highest,
    max(coalesce(h.dead_highest, h.dead)) as dead_highest,
    sum(h.added) as added, sum(h.removed) as removed, sum(h.published) as published,
    sum(h.delivered) as delivered, sum(h.redelivered) as redelivered, sum(h.acked) as acked,
    sum(h.nacked) as nacked, sum(h.lease_expired) as lease_expired, sum(h.dead_lettered) as dead_lettered,
    sum(h.deduplicated) as deduplicated, sum(h.redriven) as redriven, sum(h.refused) as refused,
    case when count(h.waits) > 0 then {duration.sums:h.waits} end as waits,
    case when count(h.work) > 0 then {duration.sums:h.work} end as work
  from h
  where h.queue_id = any(%(ids)s::integer[]) and h.bucket_at >= %(start)s and h.bucket_at < %(end)s
  group by 1, 2
) g
join h l on l.queue_id = g.queue_id and l.bucket_at = g.last_at
where l.queue_id = any(%(ids)s::integer[]) and l.bucket_at >= %(start)s and l.bucket_at < %(end)s
order by g.queue_id, g.at
