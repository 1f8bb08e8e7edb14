-- The highest lag and the most members of a consumer group in each step.
select date_bin(%(step)s::interval, bucket_at, timestamptz '2000-01-01 00:00+00'), max(lag_messages), max(lag_seconds),
  max(members)
from signalbox.group_history
where group_id = %(group_id)s and bucket_at >= %(start)s and bucket_at <= %(end)s
group by 1
