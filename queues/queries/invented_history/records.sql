-- The record of each bucket, without which charts would show a gap.
insert into signalbox.history_record (step_seconds, bucket_at, seconds, aggregation_id)
select %(step)s, at, %(step)s, (select max(aggregation_id) from signalbox.aggregation)
from generate_series(
  date_bin(%(step)s * interval '1 second', clock_timestamp() - %(reach)s::interval,
  timestamptz '2000-01-01 00:00+00'),
  clock_timestamp() - %(step)s * interval '1 second', %(step)s * interval '1 second'
) at
