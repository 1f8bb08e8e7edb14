-- History of queues at given rates: a daily rhythm, noise, and slow afternoons. `slow` rises from 0 to 1 in such an
-- afternoon and falls back.
insert into signalbox.{table} (
  queue_id, bucket_at, seconds, ready, scheduled, leased, dead,
  ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at,
  oldest_ready_age_seconds,
  added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, waits, work
)
select q.queue_id, t.at, %(step)s, n.ready, n.scheduled, n.leased, n.dead,
  n.ready * 1.2, n.scheduled * 1.1, 0, n.leased * 1.3, n.dead,
  t.at + %(step)s * interval '1 second' - n.age * interval '1 second', n.age,
  n.sent, n.done, n.sent, n.done + n.failed, n.failed, n.done, n.failed, n.failed / 5, n.failed / 20,
  array[0, n.done * 0.1, n.done * 0.4 * n.calm, n.done * 0.3 * n.calm, n.done * 0.15, n.done * 0.05, 0,
  n.done * 0.1 * n.slow,
    n.done * 0.2 * n.slow, n.done * 0.3 * n.slow, n.done * 0.1 * n.slow, 0, 0, 0, 0]::bigint[],
  array[0, n.done * 0.2, n.done * 0.5 * n.calm, n.done * 0.25, n.done * 0.05, n.done * 0.3 * n.slow,
    n.done * 0.2 * n.slow, 0, 0, 0, 0, 0, 0, 0, 0]::bigint[]
from unnest(%(names)s::text[], %(rates)s::float[]) d(name, rate)
join signalbox.queue q on q.name = d.name
cross join lateral (
  select at, date_part('hour', at at time zone 'UTC') + date_part('minute', at at time zone 'UTC') / 60.0 as hour,
    (date_part('doy', at)::integer + q.queue_id) %% 3 = 0 as is_bad
  from generate_series(
    date_bin(%(step)s * interval '1 second', clock_timestamp() - %(reach)s::interval,
    timestamptz '2000-01-01 00:00+00'),
    clock_timestamp() - %(step)s * interval '1 second', %(step)s * interval '1 second'
  ) at
) t
cross join lateral (
  select d.rate * (0.7 + 0.3 * sin(2 * pi() * (t.hour - 9) / 24)) * (0.9 + 0.2 * random()) as rate,
    case when t.is_bad then greatest(0, 1 - abs(t.hour - 15) / 1.5) else 0 end as slow
) r
cross join lateral (
  select r.rate * %(step)s as sent, r.rate * %(step)s * (1 - r.slow * 0.4 + random() * 0.02) as done,
    r.rate * (0.3 * random() + 900 * r.slow) as ready, r.rate * 0.4 as leased,
    r.rate * 0.4 * random() as scheduled,
    (r.rate * %(step)s * (0.01 + 0.15 * r.slow))::bigint as failed,
    case when t.is_bad and t.hour between 15 and 20 then round(d.rate * 12) else 0 end as dead,
    0.2 + 0.5 * random() + 700 * r.slow as age, r.slow, 1 - r.slow as calm
) n
