-- Signs of life that upkeep and consumers leave: ages in seconds, null when there never was one. `pending`: counter
-- deltas wait for aggregation; it is looked up only when upkeep is silent. Index: counter_delta_txid (BRIN).
with last_aggregation as (
  select f.snapshot, date_part('epoch', clock_timestamp() - f.aggregated_at) as age
  from signalbox.aggregation f
  order by f.aggregation_id desc
  limit 1
), clock as (
  select date_part('epoch', clock_timestamp())
    - nullif(pg_sequence_last_value('signalbox.clock'::regclass), 0) / 1000000.0 as age
)
select
  c.age as clock_age_seconds,
  f.age as last_aggregation_age_seconds,
  case when least(c.age, f.age) > %(stale_seconds)s then exists (
    select
    from signalbox.counter_delta d
    where d.txid >= pg_snapshot_xmin(f.snapshot)::text::bigint
      and not pg_visible_in_snapshot(d.txid::text::xid8, f.snapshot)
  ) else false end as pending,
  (
    select date_part('epoch', clock_timestamp() - max(n.last_seen_at)) from signalbox.consumer n
  ) as newest_consumer_age_seconds
from clock c, last_aggregation f
