-- What history says of a minute, ten minutes and an hour ago: of each the newest row before it, which stands until the next
-- one; where history does not reach back so far, its oldest row. Three probes for each queue. Index: queue_history_pkey.
-- How many seconds ago: a row's own age, or the moment asked for where the queue was at rest in between. Where no row has
-- come since, upkeep may be silent, and the row's own age is all that is known.
select
  q.queue_id,
  m.seconds,
  case
    when h.age > m.seconds + 20 and exists (
      select from signalbox.queue_history n where n.queue_id = q.queue_id and n.bucket_at > h.bucket_at
    ) then m.seconds
    else greatest(h.age, 1)
  end as age,
  coalesce(h.oldest_ready_age_seconds, 0) as oldest_ready_age_seconds,
  h.totals
from unnest(%(queue_ids)s::integer[]) q(queue_id)
cross join (values (60), (600), (3600)) m(seconds)
cross join lateral (
  select b.bucket_at, b.oldest_ready_age_seconds, b.totals, date_part('epoch', statement_timestamp() - b.bucket_at) as age
  from (
    (
      select e.bucket_at, e.oldest_ready_age_seconds, e.totals
      from signalbox.queue_history e
      where e.queue_id = q.queue_id and e.bucket_at <= statement_timestamp() - m.seconds * interval '1 second'
      order by e.bucket_at desc
      limit 1
    )
    union all
    (
      select l.bucket_at, l.oldest_ready_age_seconds, l.totals
      from signalbox.queue_history l
      where l.queue_id = q.queue_id
      order by l.bucket_at
      limit 1
    )
  ) b
  order by b.bucket_at desc
  limit 1
) h
