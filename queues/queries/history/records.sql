-- Which steps were recorded, over how many seconds, and how far the first of each reaches back.
select date_bin(%(step)s * interval '1 second', r.bucket_at, timestamptz '2000-01-01 00:00+00') as at,
  sum(r.seconds)::integer as seconds, min(r.bucket_at) as earliest,
  (array_agg(r.seconds order by r.bucket_at))[1] as reach
from signalbox.history_record r
where r.step_seconds = %(kept)s and r.bucket_at >= %(start)s and r.bucket_at < %(end)s
group by 1
order by 1
