-- A rollup in DuckDB: hours and days of each queue, each tenant and the installation.
create table rollups as
with endings as (
  select queue_id, tenant_id, date_trunc('hour', settled_at) as hour_at, date_trunc('day', settled_at) as day_at,
    outcome, receive_count,
    case when outcome = 'acked' then work_ms end as work_ms,
    case when outcome = 'acked' and receive_count = 1
      then greatest(0, epoch_ms(settled_at) - epoch_ms(sent_at) - work_ms) end as wait_ms
  from read_parquet('$files', union_by_name = true)
)
select queue_id, tenant_id, hour_at, day_at,
  count(*) filter (outcome = 'acked') as acked,
  count(*) filter (outcome = 'purged') as purged,
  count(*) filter (outcome = 'expired') as expired,
  sum(receive_count) as delivered,
  approx_quantile(wait_ms, [0.5, 0.95, 0.99]) as waits,
  approx_quantile(work_ms, [0.5, 0.95, 0.99]) as works
from endings
group by grouping sets (
  (queue_id, hour_at), (tenant_id, hour_at), (hour_at), (queue_id, day_at), (tenant_id, day_at), (day_at)
);
create table sent as
select queue_id, tenant_id, date_trunc('hour', sent_at) as hour_at, count(*) as messages
from read_parquet('$files', union_by_name = true)
group by 1, 2, 3
