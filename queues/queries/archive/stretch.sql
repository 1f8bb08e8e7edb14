-- (first, last, rows in it): the stretch is the range of message ids in the log that one scan reads for a window. A
-- scan pays if at least a third of the messages in the range were settled in the window. If not, the range without the
-- first and the last twentieth is tried; if that does not pay either, the stretch is empty. The result follows from
-- rows that do not change any more, so it is the same at every attempt.
with settled as materialized (
  select u.message_id
  from signalbox.settled s
  cross join lateral unnest(s.message_ids) u(message_id)
  where s.txid >= (select current_setting('pipeline.low')::bigint)
    and s.txid < (select current_setting('pipeline.high')::bigint)
), ends as (
  select min(s.message_id) as lowest, max(s.message_id) as highest, count(*) as rows,
    percentile_disc(array[0.05, 0.95]) within group (order by s.message_id) as middle
  from settled s
), stretch as (
  select
    case when e.highest - e.lowest < 3 * e.rows then e.lowest when e.middle[2] - e.middle[1] < 3 * e.rows
      then e.middle[1] else 1 end as first,
    case when e.highest - e.lowest < 3 * e.rows then e.highest when e.middle[2] - e.middle[1] < 3 * e.rows
      then e.middle[2] else 0 end as last
  from ends e
)
select t.first, t.last, (select count(*) from settled s where s.message_id between t.first and t.last) as rows
from stretch t
