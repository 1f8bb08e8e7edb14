"""The statements behind `queues.history_series`: their cost is the number of steps that are read, never of messages."""

# Of the three tables two are ruled out before the first row is read, since the step is a constant of the statement.
# Index: the primary key of each.
ROWS = """
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
    case when count(h.waits) > 0 then array[
      sum(h.waits[1]), sum(h.waits[2]), sum(h.waits[3]), sum(h.waits[4]), sum(h.waits[5]), sum(h.waits[6]),
      sum(h.waits[7]), sum(h.waits[8]), sum(h.waits[9]), sum(h.waits[10]), sum(h.waits[11]), sum(h.waits[12]),
      sum(h.waits[13]), sum(h.waits[14]), sum(h.waits[15])
    ]::bigint[] end as waits,
    case when count(h.work) > 0 then array[
      sum(h.work[1]), sum(h.work[2]), sum(h.work[3]), sum(h.work[4]), sum(h.work[5]), sum(h.work[6]),
      sum(h.work[7]), sum(h.work[8]), sum(h.work[9]), sum(h.work[10]), sum(h.work[11]), sum(h.work[12]),
      sum(h.work[13]), sum(h.work[14]), sum(h.work[15])
    ]::bigint[] end as work
  from h
  where h.queue_id = any(%(ids)s::integer[]) and h.bucket_at >= %(start)s and h.bucket_at < %(end)s
  group by 1, 2
) g
join h l on l.queue_id = g.queue_id and l.bucket_at = g.last_at
where l.queue_id = any(%(ids)s::integer[]) and l.bucket_at >= %(start)s and l.bucket_at < %(end)s
order by g.queue_id, g.at
"""

# The last row from before stands for a queue that was at rest when the window began. One that has no row at all was at
# rest for as long as history goes: what it has now is what it had.
BEFORE = """
select q.queue_id, coalesce(h.ready, n.depths[1]) as ready, coalesce(h.scheduled, n.depths[2]) as scheduled,
  coalesce(h.waiting, n.depths[3]) as waiting, coalesce(h.leased, n.depths[4]) as leased,
  coalesce(h.dead, n.depths[case when n.is_dead_letter_queue then 6 else 5 end]) as dead, h.oldest_visible_at
from unnest(%(ids)s::integer[]) q(queue_id)
left join lateral (
  select b.*
  from (
    (
      select * from signalbox.queue_history b
      where b.queue_id = q.queue_id and b.bucket_at < %(start)s order by b.bucket_at desc limit 1
    )
    union all
    (
      select * from signalbox.queue_history_minute b
      where b.queue_id = q.queue_id and b.bucket_at < %(start)s order by b.bucket_at desc limit 1
    )
    union all
    (
      select * from signalbox.queue_history_ten_minutes b
      where b.queue_id = q.queue_id and b.bucket_at < %(start)s order by b.bucket_at desc limit 1
    )
  ) b
  order by b.bucket_at desc
  limit 1
) h on true
left join lateral (
  select signalbox._depths(s.totals) as depths, k.is_dead_letter_queue
  from signalbox.queue_stat s
  join signalbox.queue k on k.queue_id = s.queue_id
  where s.queue_id = q.queue_id and h.queue_id is null and k.created_at < %(start)s
    and not exists (
      select from signalbox.queue_history a where a.queue_id = q.queue_id and a.bucket_at >= %(start)s
      union all
      select from signalbox.queue_history_minute a where a.queue_id = q.queue_id and a.bucket_at >= %(start)s
      union all
      select from signalbox.queue_history_ten_minutes a where a.queue_id = q.queue_id and a.bucket_at >= %(start)s
    )
  order by s.fold_id desc
  limit 1
) n on true
where h.queue_id is not null or n.depths is not null
"""

# Which steps were recorded, over how many seconds, and how far the first of each reaches back.
RECORDS = """
select date_bin(%(step)s * interval '1 second', r.bucket_at, timestamptz '2000-01-01 00:00+00') as at,
  sum(r.seconds)::integer as seconds, min(r.bucket_at) as earliest,
  (array_agg(r.seconds order by r.bucket_at))[1] as reach
from signalbox.history_record r
where r.step_seconds = %(kept)s and r.bucket_at >= %(start)s and r.bucket_at < %(end)s
group by 1
order by 1
"""
