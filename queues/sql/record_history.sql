-- record_history(): one row of history for each queue that changed since its last row or has messages waiting: depths,
-- oldest age, and what happened in between. Buckets of ten seconds, kept for an hour. Returns how many rows.
create or replace function signalbox.record_history() returns integer
language plpgsql
as $$
declare
  v_bucket timestamptz := to_timestamp(date_part('epoch', clock_timestamp())::bigint / 10 * 10);
  v_rows integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.history'), 0) then
    return null;
  end if;
  insert into signalbox.queue_history (
    queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead, oldest_ready_age_seconds,
    published, delivered, acked, nacked, dead_lettered, removed, totals
  )
  select now.queue_id, v_bucket, 10,
    now.ready, now.scheduled, now.waiting, now.leased, now.dead,
    case when oldest.at is not null then greatest(date_part('epoch', clock_timestamp() - oldest.at), 0) end,
    signalbox.event_total(now.totals, 'published', 'published_scheduled', 'published_waiting')
      - signalbox.event_total(last.totals, 'published', 'published_scheduled', 'published_waiting'),
    signalbox.event_total(now.totals, 'delivered') - signalbox.event_total(last.totals, 'delivered'),
    signalbox.event_total(now.totals, 'acked') - signalbox.event_total(last.totals, 'acked'),
    signalbox.event_total(now.totals, 'nacked_ready', 'nacked_scheduled', 'dead_rejected', 'dead_runtime_error')
      - signalbox.event_total(last.totals, 'nacked_ready', 'nacked_scheduled', 'dead_rejected', 'dead_runtime_error'),
    signalbox.event_total(now.totals, 'dead_rejected', 'dead_runtime_error', 'dead_lock_expired')
      - signalbox.event_total(last.totals, 'dead_rejected', 'dead_runtime_error', 'dead_lock_expired'),
    removed.now - removed.last,
    now.totals
  from (
    select t.queue_id, t.totals, signalbox.depth(t.totals, 'ready') as ready, signalbox.depth(t.totals, 'scheduled') as scheduled,
      signalbox.depth(t.totals, 'waiting') as waiting, signalbox.depth(t.totals, 'leased') as leased,
      case when q.is_dead_letter_queue then signalbox.depth(t.totals, 'held') else signalbox.depth(t.totals, 'dead') end as dead
    from signalbox.queue_totals() t
    join signalbox.queue q on q.queue_id = t.queue_id
  ) now
  left join lateral (
    select h.bucket_at, h.totals from signalbox.queue_history h where h.queue_id = now.queue_id order by h.bucket_at desc limit 1
  ) last on true
  cross join lateral (select signalbox.oldest_visible_at(now.queue_id) as at) oldest
  cross join lateral (
    select
      signalbox.event_total(now.totals, 'acked', 'dead_rejected', 'dead_runtime_error', 'dead_lock_expired',
        'purged_ready', 'purged_scheduled', 'purged_waiting', 'purged_leased', 'expired_ready', 'expired_waiting') as now,
      signalbox.event_total(last.totals, 'acked', 'dead_rejected', 'dead_runtime_error', 'dead_lock_expired',
        'purged_ready', 'purged_scheduled', 'purged_waiting', 'purged_leased', 'expired_ready', 'expired_waiting') as last
  ) removed
  where now.totals is distinct from last.totals or now.ready > 0 or now.waiting > 0
  on conflict (queue_id, bucket_at) do nothing;
  get diagnostics v_rows = row_count;
  return v_rows;
end $$;
