-- What history says of a minute, ten minutes and an hour ago: how many seconds ago that was, the age of the oldest then,
-- what waited then, and the counters of then: those of the last row less what the rows since then add up to. Where no row
-- is from before, the queue was at rest as far back as history was recorded, or it is younger than the moment asked for.
-- Where nothing was recorded before, its oldest row is all that is known. At most an hour of rows for each queue that is
-- asked for. Indexes: queue_history_pkey, history_record_pkey, queue_stat_pkey.
-- A row's own age, or the moment asked for where the queue was at rest in between. Where no row has come since, upkeep may
-- be silent, and the row's own age is all that is known.
select
  q.queue_id,
  m.seconds,
  case
    when h.at_rest or (h.age > m.seconds + 20 and exists (
      select from signalbox.queue_history n where n.queue_id = q.queue_id and n.bucket_at > h.bucket_at
    )) then m.seconds
    else greatest(h.age, 1)
  end as age,
  coalesce(h.oldest_ready_age_seconds, 0) as oldest_ready_age_seconds,
  h.ready,
  h.waiting,
  r.happened[1] - since.added as added,
  r.happened[2] - since.removed as removed,
  r.happened[4] - since.delivered as delivered,
  r.happened[5] - since.redelivered as redelivered,
  r.happened[6] - since.acked as acked,
  r.happened[7] - since.nacked as nacked,
  r.happened[8] - since.lease_expired as lease_expired,
  r.happened[9] - since.dead_lettered as dead_lettered
from signalbox.queue q
cross join (values (60), (600), (3600)) m(seconds)
cross join lateral (select clock_timestamp() - m.seconds * interval '1 second' as at) moment
cross join lateral (
  select signalbox._happened(s.totals) as happened
  from signalbox.queue_stat s
  where s.queue_id = q.queue_id and s.fold_id <= (
    select l.fold_id from signalbox.history_record l where l.step_seconds = 10 order by l.bucket_at desc limit 1
  )
  order by s.fold_id desc
  limit 1
) r
cross join lateral (
  select b.bucket_at, b.oldest_ready_age_seconds, b.ready, b.waiting, b.at_rest,
    date_part('epoch', clock_timestamp() - b.bucket_at) as age
  from (
    (
      select 1 as choice, e.bucket_at, e.oldest_ready_age_seconds, e.ready, e.waiting, false as at_rest
      from signalbox.queue_history e
      where e.queue_id = q.queue_id and e.bucket_at <= moment.at
      order by e.bucket_at desc
      limit 1
    )
    union all
    (
      select 2, f.bucket_at - interval '1 microsecond', 0,
        greatest(f.ready + f.waiting + f.leased - f.added + f.removed, 0), 0,
        q.created_at <= moment.at and exists (
          select from signalbox.history_record p where p.step_seconds = 10 and p.bucket_at <= moment.at
        )
      from signalbox.queue_history f
      where f.queue_id = q.queue_id
      order by f.bucket_at
      limit 1
    )
    union all
    (
      select 3, l.bucket_at, l.oldest_ready_age_seconds, l.ready, l.waiting, false
      from signalbox.queue_history l
      where l.queue_id = q.queue_id
      order by l.bucket_at
      limit 1
    )
  ) b
  where b.choice <> 2 or b.at_rest
  order by b.choice
  limit 1
) h
cross join lateral (
  select coalesce(sum(n.added), 0) as added, coalesce(sum(n.removed), 0) as removed,
    coalesce(sum(n.delivered), 0) as delivered, coalesce(sum(n.redelivered), 0) as redelivered,
    coalesce(sum(n.acked), 0) as acked, coalesce(sum(n.nacked), 0) as nacked,
    coalesce(sum(n.lease_expired), 0) as lease_expired, coalesce(sum(n.dead_lettered), 0) as dead_lettered
  from signalbox.queue_history n
  where n.queue_id = q.queue_id and n.bucket_at > h.bucket_at
) since
where q.queue_id = any(%(queue_ids)s::integer[])
