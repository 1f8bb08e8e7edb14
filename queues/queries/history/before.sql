-- The last row before the window stands for a queue that was idle when the window began. A queue without a row was idle
-- for as long as history goes back, so its present numbers stand for it.
select q.queue_id, coalesce(h.ready, n.ready) as ready, coalesce(h.scheduled, n.scheduled) as scheduled,
  coalesce(h.waiting, n.waiting) as waiting, coalesce(h.leased, n.leased) as leased,
  coalesce(h.dead, case when n.is_dead_letter_queue then n.held else n.dead end) as dead, h.oldest_visible_at
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
  select d.*, k.is_dead_letter_queue
  from signalbox.queue_stat s
  join signalbox.queue k on k.queue_id = s.queue_id
  cross join lateral signalbox._depths_of(s.totals) d
  where s.queue_id = q.queue_id and h.queue_id is null and k.created_at < %(start)s
    and not exists (
      select from signalbox.queue_history a where a.queue_id = q.queue_id and a.bucket_at >= %(start)s
      union all
      select from signalbox.queue_history_minute a where a.queue_id = q.queue_id and a.bucket_at >= %(start)s
      union all
      select from signalbox.queue_history_ten_minutes a where a.queue_id = q.queue_id and a.bucket_at >= %(start)s
    )
  order by s.aggregation_id desc
  limit 1
) n on true
where h.queue_id is not null or n.ready is not null
