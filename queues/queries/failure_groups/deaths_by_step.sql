-- Deaths of each failure group in each step of time that has any.
, died as (
  select p.head, b.bucket_at, b.deaths
  from part p
  cross join lateral (  -- each failure group by its own index entries, however many buckets there are
    select b.bucket_at, b.queue_id, b.deaths
    from signalbox.failure_cluster_bucket b
    where b.fingerprint = p.fingerprint and b.bucket_at >= %s
    offset 0
  ) b
  where %s::integer[] is null or b.queue_id = any(%s::integer[])
  union all
  select u.head, u.bucket_at, u.deaths
  from pending u
  where u.bucket_at >= %s and (%s::integer[] is null or u.queue_id = any(%s::integer[]))
)
select d.head, date_bin(%s, d.bucket_at, timestamptz '2000-01-01 00:00:00+00') as moment, sum(d.deaths)
from died d
group by d.head, moment
