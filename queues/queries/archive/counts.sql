-- How many rows of each kind a window has, by about a thousand spans of transactions: (kind, first transaction, rows)
-- in order. Reads no bodies. The counts equal the rows of each kind's own statement, since nothing below the horizon
-- changes any more.
with counted as materialized (
  select 'settled' as kind, s.txid, cardinality(s.message_ids)::bigint as rows
  from signalbox.settled s
  where s.txid >= (select current_setting('pipeline.low')::bigint)
    and s.txid < (select current_setting('pipeline.high')::bigint)
  union all
  select 'failures', f.txid, 1
  from signalbox.failure f
  where f.txid >= (select current_setting('pipeline.low')::bigint)
    and f.txid < (select current_setting('pipeline.high')::bigint)
  union all
  select 'dead_letters', f.txid, 1
  from signalbox.failure f
  where f.txid >= (select current_setting('pipeline.low')::bigint)
    and f.txid < (select current_setting('pipeline.high')::bigint)
    and f.retry_at is null
  union all
  select 'dead_letters', 0, 1
  from signalbox.dead_letter d
  where (select current_setting('pipeline.low')::bigint) = 0
    and not exists (
      select from signalbox.failure f where f.message_id = d.message_id and f.failed_at = d.died_at
        and f.retry_at is null
    )
), ends as (
  select min(c.txid) as first, greatest(1, (max(c.txid) - min(c.txid)) / 1000) as step from counted c where c.txid > 0
)
select c.kind, case when c.txid = 0 then 0
  else e.first + (c.txid - e.first) / e.step * e.step end as txid, sum(c.rows)::bigint as rows
from counted c
cross join ends e
group by 1, 2
order by 1, 2
