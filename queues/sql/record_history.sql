-- record_history(): one row of history for each queue that changed since the last call, and for each tenant and for all
-- queues together: depths, since when the oldest is visible, and what happened in between. What is at rest has no row;
-- when it moves again, one says how it stood until then.
-- Buckets of ten seconds, kept for an hour; of them minutes, kept for a day; of them ten minutes, kept for two weeks. What
-- happened is the difference of two folds, so that it is counted once however often and by whomever this is called; what
-- happened while nobody called is in the next row, whose seconds say how long that was. Returns how many rows.
-- The cost is the number of queues, never of messages. Indexes: queue_stat_pkey, queue_history_pkey.
create or replace function signalbox.record_history() returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bucket timestamptz;
  v_last signalbox.history_record;
  v_seconds integer;
  v_since bigint;
  v_fold bigint;
  v_rows integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('record_history');
  end if;
  if not pg_try_advisory_xact_lock(hashtext('signalbox.history'), 0) then
    return null;
  end if;
  perform signalbox.fold();
  v_bucket := date_bin('10 seconds', clock_timestamp(), timestamptz '2000-01-01 00:00+00');
  select * into v_last from signalbox.history_record r where r.step_seconds = 10 order by r.fold_id desc, r.bucket_at desc limit 1;
  v_since := coalesce(v_last.fold_id, 0);
  v_fold := (select f.fold_id from signalbox._last_fold() f);
  v_seconds := greatest(10, date_part('epoch', v_bucket - coalesce(v_last.bucket_at, (select min(f.folded_at) from signalbox.fold f))));
  insert into signalbox.history_record as r (step_seconds, bucket_at, seconds, fold_id)
  values (10, v_bucket, v_seconds, v_fold)
  on conflict (step_seconds, bucket_at) do update set fold_id = excluded.fold_id;
  v_rows := signalbox._record_since(v_bucket, v_seconds, v_since, v_fold);
  perform signalbox._roll_up_history(10);
  perform signalbox._roll_up_history(60);
  return v_rows;
end $$;

-- The rows of one bucket: what changed between two folds. A bucket that has rows already is added to.
create or replace function signalbox._record_since(p_bucket timestamptz, p_seconds integer, p_since bigint, p_fold bigint)
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
    from (select r.queue_id, sum(r.counted)::bigint as counted from signalbox.refusal r where r.counted > 0 group by r.queue_id) r
    left join signalbox.history_refused k on k.queue_id = r.queue_id
  ), noted as (
    insert into signalbox.history_refused as k (queue_id, counted)
    select r.queue_id, r.counted from refusing r where r.refused <> 0
    on conflict (queue_id) do update set counted = excluded.counted
  ), standing as materialized (
    select q.queue_id, q.tenant_id, q.is_dead_letter_queue as keeps_dead,
      n.fold_id > p_since or coalesce(r.refused, 0) <> 0 as changed,
      case when q.created_at > p_bucket - p_seconds * interval '1 second'
        then greatest(10, ceil(date_part('epoch', p_bucket - q.created_at) / 10) * 10) else p_seconds
      end as seconds,
      signalbox._depths(n.totals) as depths,
      signalbox._happened(n.totals) as happened,
      case when n.fold_id > p_since then signalbox._depths(b.totals) else signalbox._depths(n.totals) end as depths_before,
      case when n.fold_id > p_since then signalbox._happened(b.totals) else signalbox._happened(n.totals) end as happened_before,
      case when n.fold_id > p_since then signalbox._counts_between(n.durations, b.durations, 1) end as waits,
      case when n.fold_id > p_since then signalbox._counts_between(n.durations, b.durations, 16) end as work,
      o.at as oldest_at,
      coalesce(r.refused, 0) as refused, n.totals, b.folded_at as stood_since, b.totals as totals_before
    from signalbox.queue q
    cross join lateral (
      select s.fold_id, s.totals, s.durations
      from signalbox.queue_stat s
      where s.queue_id = q.queue_id and s.fold_id <= p_fold
      order by s.fold_id desc
      limit 1
    ) n
    left join lateral (
      select s.totals, s.durations, s.folded_at
      from signalbox.queue_stat s
      where n.fold_id > p_since and s.queue_id = q.queue_id and s.fold_id <= p_since
      order by s.fold_id desc
      limit 1
    ) b on true
    left join refusing r on r.queue_id = q.queue_id
    cross join lateral signalbox._oldest_visible(q.queue_id) o
  ), counted as materialized (
    select s.queue_id, s.tenant_id, s.keeps_dead, s.changed, s.seconds, s.oldest_at, s.refused, s.waits, s.work, s.totals, s.stood_since, s.totals_before,
      s.depths[1] as ready, s.depths[2] as scheduled, s.depths[3] as waiting, s.depths[4] as leased,
      s.depths[case when s.keeps_dead then 6 else 5 end] as dead,
      coalesce(s.depths_before[1], 0) as ready_before, coalesce(s.depths_before[2], 0) as scheduled_before,
      coalesce(s.depths_before[3], 0) as waiting_before, coalesce(s.depths_before[4], 0) as leased_before,
      coalesce(s.depths_before[case when s.keeps_dead then 6 else 5 end], 0) as dead_before,
      s.happened[1] - coalesce(s.happened_before[1], 0) as added,
      s.happened[2] - coalesce(s.happened_before[2], 0) as removed,
      s.happened[3] - coalesce(s.happened_before[3], 0) as published,
      s.happened[4] - coalesce(s.happened_before[4], 0) as delivered,
      s.happened[5] - coalesce(s.happened_before[5], 0) as redelivered,
      s.happened[6] - coalesce(s.happened_before[6], 0) as acked,
      s.happened[7] - coalesce(s.happened_before[7], 0) as nacked,
      s.happened[8] - coalesce(s.happened_before[8], 0) as lease_expired,
      s.happened[9] - coalesce(s.happened_before[9], 0) as dead_lettered,
      s.happened[10] - coalesce(s.happened_before[10], 0) as deduplicated,
      s.happened[11] - coalesce(s.happened_before[11], 0) as redriven
    from standing s
  ), rested as (
    insert into signalbox.queue_history (
      queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead, removed, published, delivered, acked, nacked, dead_lettered,
      totals
    )
    select c.queue_id, p_bucket - interval '10 seconds', 10, c.ready_before, c.scheduled_before, c.waiting_before, c.leased_before,
      c.dead_before, 0, 0, 0, 0, 0, 0, c.totals_before
    from counted c
    where c.stood_since < p_bucket - interval '30 seconds' and p_seconds <= 30 -- else nobody looked
    on conflict (queue_id, bucket_at) do nothing
  ), together as (
    select coalesce(-c.tenant_id, 0) as queue_id, p_seconds as seconds, min(c.oldest_at) as oldest_at,
      sum(c.ready) as ready, sum(c.scheduled) as scheduled, sum(c.waiting) as waiting, sum(c.leased) as leased, sum(c.dead) as dead,
      sum(c.ready_before) as ready_before, sum(c.scheduled_before) as scheduled_before, sum(c.waiting_before) as waiting_before,
      sum(c.leased_before) as leased_before, sum(c.dead_before) as dead_before,
      sum(c.added) as added, sum(c.removed) as removed, sum(c.published) as published, sum(c.delivered) as delivered,
      sum(c.redelivered) as redelivered, sum(c.acked) as acked, sum(c.nacked) as nacked, sum(c.lease_expired) as lease_expired,
      sum(c.dead_lettered) as dead_lettered, sum(c.deduplicated) as deduplicated, sum(c.redriven) as redriven, sum(c.refused) as refused,
      case when count(c.waits) > 0 then array[
        sum(c.waits[1]), sum(c.waits[2]), sum(c.waits[3]), sum(c.waits[4]), sum(c.waits[5]), sum(c.waits[6]), sum(c.waits[7]),
        sum(c.waits[8]), sum(c.waits[9]), sum(c.waits[10]), sum(c.waits[11]), sum(c.waits[12]), sum(c.waits[13]),
        sum(c.waits[14]), sum(c.waits[15])
      ]::bigint[] end as waits,
      case when count(c.work) > 0 then array[
        sum(c.work[1]), sum(c.work[2]), sum(c.work[3]), sum(c.work[4]), sum(c.work[5]), sum(c.work[6]), sum(c.work[7]),
        sum(c.work[8]), sum(c.work[9]), sum(c.work[10]), sum(c.work[11]), sum(c.work[12]), sum(c.work[13]),
        sum(c.work[14]), sum(c.work[15])
      ]::bigint[] end as work
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
    ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at, oldest_ready_age_seconds,
    added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, deduplicated, redriven, refused,
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
  set ready = excluded.ready, scheduled = excluded.scheduled, waiting = excluded.waiting, leased = excluded.leased, dead = excluded.dead,
    ready_highest = greatest(h.ready_highest, excluded.ready_highest),
    scheduled_highest = greatest(h.scheduled_highest, excluded.scheduled_highest),
    waiting_highest = greatest(h.waiting_highest, excluded.waiting_highest),
    leased_highest = greatest(h.leased_highest, excluded.leased_highest),
    dead_highest = greatest(h.dead_highest, excluded.dead_highest),
    oldest_visible_at = excluded.oldest_visible_at,
    oldest_ready_age_seconds = greatest(h.oldest_ready_age_seconds, excluded.oldest_ready_age_seconds),
    added = h.added + excluded.added, removed = h.removed + excluded.removed, published = h.published + excluded.published,
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
