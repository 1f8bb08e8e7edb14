-- History of a minute, ten minutes and an hour ago: the newest row before each, which holds until the next one, or the
-- oldest row where history is shorter. Three probes for each queue. Index: queue_history_pkey. The age is the requested
-- one if the queue was idle since the row; otherwise it is the age of the row. Without a later row upkeep may be
-- silent: then it is the age of the row too.
select m.queue_id, m.seconds, m.age,
  coalesce(
    greatest(date_part('epoch', statement_timestamp() - m.age * interval '1 second' - m.oldest_visible_at), 0), 0
  ) as oldest_seconds,
  m.totals
from (
  select q.queue_id, m.seconds, h.oldest_visible_at, h.totals,
    case
      when h.age > m.seconds + 20 and exists (
        select from signalbox.queue_history n where n.queue_id = q.queue_id and n.bucket_at > h.bucket_at
      ) then m.seconds
      when h.age < m.seconds and h.at_rest and q.created_at < statement_timestamp() - m.seconds * interval '1 second'
        and exists (
        select
        from signalbox.history_record r
        where r.step_seconds = 10 and r.bucket_at < statement_timestamp() - m.seconds * interval '1 second'
      ) then m.seconds
      else greatest(h.age, 1)
    end as age
  from signalbox.queue q
  cross join (values (60), (600), (3600)) m(seconds)
  cross join lateral (
    select b.bucket_at, b.oldest_visible_at, b.totals, b.added + b.removed + b.delivered = 0 as at_rest,
      date_part('epoch', statement_timestamp() - b.bucket_at) as age
    from (
      (
        select e.bucket_at, e.oldest_visible_at, e.totals, e.added, e.removed, e.delivered
        from signalbox.queue_history e
        where e.queue_id = q.queue_id and e.totals is not null
          and e.bucket_at <= statement_timestamp() - m.seconds * interval '1 second'
        order by e.bucket_at desc
        limit 1
      )
      union all
      (
        select l.bucket_at, l.oldest_visible_at, l.totals, l.added, l.removed, l.delivered
        from signalbox.queue_history l
        where l.queue_id = q.queue_id and l.totals is not null
        order by l.bucket_at
        limit 1
      )
    ) b
    order by b.bucket_at desc
    limit 1
  ) h
  where q.queue_id = any(%(queue_ids)s::integer[])
) m
