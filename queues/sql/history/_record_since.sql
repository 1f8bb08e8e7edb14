-- Write the rows of one bucket of history: the changes between two aggregations. A bucket that has rows already is
-- added to.
create or replace function signalbox._record_since(
  p_bucket timestamptz, p_seconds integer, p_since bigint, p_through bigint
)
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows integer;
begin
  with refusing as materialized (
    select r.queue_id, r.counted, r.counted - coalesce(k.counted, 0) as refused
    from (
      select r.queue_id, sum(r.counted)::bigint as counted
      from signalbox.refusal r
      where r.counted > 0
      group by r.queue_id
    ) r
    left join signalbox.history_refused k on k.queue_id = r.queue_id
  ), noted as (
    insert into signalbox.history_refused as k (queue_id, counted)
    select r.queue_id, r.counted from refusing r where r.refused <> 0
    on conflict (queue_id) do update set counted = excluded.counted
  ), standing as materialized (
    select q.queue_id, q.tenant_id, q.is_dead_letter_queue as keeps_dead,
      n.aggregation_id > p_since or coalesce(r.refused, 0) <> 0 as changed,
      case when q.created_at > p_bucket - p_seconds * interval '1 second'
        then greatest(10, ceil(date_part('epoch', p_bucket - q.created_at) / 10) * 10) else p_seconds
      end as seconds,
      case when n.aggregation_id > p_since then b.totals else n.totals end as counted_before,
      case when n.aggregation_id > p_since
        then signalbox._counts_between(n.durations, b.durations, {duration.waits}) end as waits,
      case when n.aggregation_id > p_since
        then signalbox._counts_between(n.durations, b.durations, {duration.work}) end as work,
      o.at as oldest_at,
      coalesce(r.refused, 0) as refused, n.totals, b.aggregated_at as stood_since, b.totals as totals_before
    from signalbox.queue q
    cross join lateral (
      select s.aggregation_id, s.totals, s.durations
      from signalbox.queue_stat s
      where s.queue_id = q.queue_id and s.aggregation_id <= p_through
      order by s.aggregation_id desc
      limit 1
    ) n
    left join lateral (
      select s.totals, s.durations, s.aggregated_at
      from signalbox.queue_stat s
      where n.aggregation_id > p_since and s.queue_id = q.queue_id and s.aggregation_id <= p_since
      order by s.aggregation_id desc
      limit 1
    ) b on true
    left join refusing r on r.queue_id = q.queue_id
    cross join lateral signalbox._oldest_visible(q.queue_id) o
  ), counted as materialized (
    select s.queue_id, s.tenant_id, s.keeps_dead, s.changed, s.seconds, s.oldest_at, s.refused, s.waits, s.work,
      s.totals, s.stood_since, s.totals_before,
      d.ready, d.scheduled, d.waiting, d.leased, case when s.keeps_dead then d.held else d.dead end as dead,
      o.ready as ready_before, o.scheduled as scheduled_before, o.waiting as waiting_before, o.leased as leased_before,
      case when s.keeps_dead then o.held else o.dead end as dead_before,
      t.added - b.added as added, t.removed - b.removed as removed, t.published - b.published as published,
      t.delivered - b.delivered as delivered, t.redelivered - b.redelivered as redelivered, t.acked - b.acked as acked,
      t.nacked - b.nacked as nacked, t.lease_expired - b.lease_expired as lease_expired,
      t.dead_lettered - b.dead_lettered as dead_lettered, t.deduplicated - b.deduplicated as deduplicated,
      t.redriven - b.redriven as redriven
    from standing s
    cross join lateral signalbox._depths_of(s.totals) d
    cross join lateral signalbox._depths_of(s.counted_before) o
    cross join lateral signalbox._totals_of(s.totals) t
    cross join lateral signalbox._totals_of(s.counted_before) b
  ), rested as (
    insert into signalbox.queue_history (
      queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead, removed, published, delivered, acked,
      nacked, dead_lettered,
      totals
    )
    select c.queue_id, p_bucket - interval '10 seconds', 10, c.ready_before, c.scheduled_before, c.waiting_before,
      c.leased_before,
      c.dead_before, 0, 0, 0, 0, 0, 0, c.totals_before
    from counted c
    where c.stood_since < p_bucket - interval '30 seconds' and p_seconds <= 30 -- otherwise nothing was recorded
    on conflict (queue_id, bucket_at) do nothing
  ), together as (
    select coalesce(-c.tenant_id, 0) as queue_id, p_seconds as seconds, min(c.oldest_at) as oldest_at,
      sum(c.ready) as ready, sum(c.scheduled) as scheduled, sum(c.waiting) as waiting, sum(c.leased) as leased,
      sum(c.dead) as dead,
      sum(c.ready_before) as ready_before, sum(c.scheduled_before) as scheduled_before,
      sum(c.waiting_before) as waiting_before,
      sum(c.leased_before) as leased_before, sum(c.dead_before) as dead_before,
      sum(c.added) as added, sum(c.removed) as removed, sum(c.published) as published, sum(c.delivered) as delivered,
      sum(c.redelivered) as redelivered, sum(c.acked) as acked, sum(c.nacked) as nacked,
      sum(c.lease_expired) as lease_expired,
      sum(c.dead_lettered) as dead_lettered, sum(c.deduplicated) as deduplicated, sum(c.redriven) as redriven,
      sum(c.refused) as refused,
      case when count(c.waits) > 0 then {duration.sums:c.waits} end as waits,
      case when count(c.work) > 0 then {duration.sums:c.work} end as work
    from counted c
    where not c.keeps_dead
    group by grouping sets ((c.tenant_id), ())
    having bool_or(c.changed)
  ), rows as (
    select c.queue_id, c.seconds, c.oldest_at, c.ready, c.scheduled, c.waiting, c.leased, c.dead,
      c.ready_before, c.scheduled_before, c.waiting_before, c.leased_before, c.dead_before,
      c.added, c.removed, c.published, c.delivered, c.redelivered, c.acked, c.nacked, c.lease_expired, c.dead_lettered,
      c.deduplicated, c.redriven, c.refused, c.waits, c.work, c.totals
    from counted c
    where c.changed
    union all
    select t.queue_id, t.seconds, t.oldest_at, t.ready, t.scheduled, t.waiting, t.leased, t.dead,
      t.ready_before, t.scheduled_before, t.waiting_before, t.leased_before, t.dead_before,
      t.added, t.removed, t.published, t.delivered, t.redelivered, t.acked, t.nacked, t.lease_expired, t.dead_lettered,
      t.deduplicated, t.redriven, t.refused, t.waits, t.work, null
    from together t
  )
  insert into signalbox.queue_history as h (
    queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead,
    ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at,
    oldest_ready_age_seconds,
    added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, deduplicated,
    redriven, refused,
    waits, work, totals
  )
  select r.queue_id, p_bucket, r.seconds, r.ready, r.scheduled, r.waiting, r.leased, r.dead,
    greatest(r.ready, r.ready_before), greatest(r.scheduled, r.scheduled_before), greatest(r.waiting, r.waiting_before),
    greatest(r.leased, r.leased_before), greatest(r.dead, r.dead_before),
    r.oldest_at, greatest(date_part('epoch', clock_timestamp() - r.oldest_at), 0),
    r.added, r.removed, r.published, r.delivered, r.redelivered, r.acked, r.nacked, r.lease_expired, r.dead_lettered,
    r.deduplicated, r.redriven, r.refused, r.waits, r.work, r.totals
  from rows r
  on conflict (queue_id, bucket_at) do update
  set ready = excluded.ready, scheduled = excluded.scheduled, waiting = excluded.waiting, leased = excluded.leased,
  dead = excluded.dead,
    ready_highest = greatest(h.ready_highest, excluded.ready_highest),
    scheduled_highest = greatest(h.scheduled_highest, excluded.scheduled_highest),
    waiting_highest = greatest(h.waiting_highest, excluded.waiting_highest),
    leased_highest = greatest(h.leased_highest, excluded.leased_highest),
    dead_highest = greatest(h.dead_highest, excluded.dead_highest),
    oldest_visible_at = excluded.oldest_visible_at,
    oldest_ready_age_seconds = greatest(h.oldest_ready_age_seconds, excluded.oldest_ready_age_seconds),
    added = h.added + excluded.added, removed = h.removed + excluded.removed,
    published = h.published + excluded.published,
    delivered = h.delivered + excluded.delivered, redelivered = h.redelivered + excluded.redelivered,
    acked = h.acked + excluded.acked, nacked = h.nacked + excluded.nacked,
    lease_expired = h.lease_expired + excluded.lease_expired, dead_lettered = h.dead_lettered + excluded.dead_lettered,
    deduplicated = h.deduplicated + excluded.deduplicated, redriven = h.redriven + excluded.redriven,
    refused = h.refused + excluded.refused,
    waits = signalbox._add_counts(h.waits, excluded.waits), work = signalbox._add_counts(h.work, excluded.work),
    totals = excluded.totals;
  get diagnostics v_rows = row_count;
  return v_rows;
end $$;
