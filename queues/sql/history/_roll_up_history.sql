-- Roll up buckets of one step of history into the next, coarser one: it keeps the last depths, the highest values and
-- the sums. A bucket is complete when its time is over. One that was added to since, or was missed, is made again from
-- all its parts, so it does not matter how often or how late this is called. At most sixty buckets a call. Returns how
-- many. Index: the primary key of the finer step, a probe for each queue.
create or replace function signalbox._roll_up_history(p_step_seconds integer) returns integer
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step record;
  v_due record;
  v_made integer := 0;
begin
  select f.step_seconds, f.table_name as finer, n.step_seconds as next_seconds, n.table_name as coarser
  into v_step
  from signalbox._history_steps() f
  join signalbox._history_steps() n on n.step_seconds = f.next_seconds
  where f.step_seconds = p_step_seconds;
  for v_due in
    select d.bucket_at, d.seconds, d.aggregation_id
      from signalbox._due_history(v_step.step_seconds, v_step.next_seconds) d order by d.bucket_at limit 60
  loop
    execute format($sql$
      insert into signalbox.%I (
        queue_id, bucket_at, seconds, ready, scheduled, waiting, leased, dead,
        ready_highest, scheduled_highest, waiting_highest, leased_highest, dead_highest, oldest_visible_at,
        oldest_ready_age_seconds,
        added, removed, published, delivered, redelivered, acked, nacked, lease_expired, dead_lettered, deduplicated,
        redriven, refused,
        waits, work
      )
      select q.queue_id, $1, $3, l.ready, l.scheduled, l.waiting, l.leased, l.dead,
        a.ready, a.scheduled, a.waiting, a.leased, a.dead, l.oldest_visible_at, a.oldest_ready_age_seconds,
        a.added, a.removed, a.published, a.delivered, a.redelivered, a.acked, a.nacked, a.lease_expired,
        a.dead_lettered,
        a.deduplicated, a.redriven, a.refused, a.waits, a.work
      from (
        select q.queue_id from signalbox.queue q
        union all
        select -t.tenant_id from signalbox.tenant t
        union all
        select 0
      ) q
      cross join lateral (
        select l.ready, l.scheduled, l.waiting, l.leased, l.dead, l.oldest_visible_at
        from signalbox.%I l
        where l.queue_id = q.queue_id and l.bucket_at >= $1 and l.bucket_at < $2
        order by l.bucket_at desc
        limit 1
      ) l
      cross join lateral (
        select max(coalesce(h.ready_highest, h.ready)) as ready,
          max(coalesce(h.scheduled_highest, h.scheduled)) as scheduled,
          max(coalesce(h.waiting_highest, h.waiting)) as waiting, max(coalesce(h.leased_highest, h.leased)) as leased,
          max(coalesce(h.dead_highest, h.dead)) as dead, max(h.oldest_ready_age_seconds) as oldest_ready_age_seconds,
          sum(h.added) as added, sum(h.removed) as removed, sum(h.published) as published,
          sum(h.delivered) as delivered,
          sum(h.redelivered) as redelivered, sum(h.acked) as acked, sum(h.nacked) as nacked,
          sum(h.lease_expired) as lease_expired,
          sum(h.dead_lettered) as dead_lettered, sum(h.deduplicated) as deduplicated, sum(h.redriven) as redriven,
          sum(h.refused) as refused,
          case when count(h.waits) > 0 then {duration.sums:h.waits} end as waits,
          case when count(h.work) > 0 then {duration.sums:h.work} end as work
        from signalbox.%I h
        where h.queue_id = q.queue_id and h.bucket_at >= $1 and h.bucket_at < $2
      ) a
      on conflict (queue_id, bucket_at) do update
      set seconds = excluded.seconds, ready = excluded.ready, scheduled = excluded.scheduled,
      waiting = excluded.waiting,
        leased = excluded.leased, dead = excluded.dead, ready_highest = excluded.ready_highest,
        scheduled_highest = excluded.scheduled_highest, waiting_highest = excluded.waiting_highest,
        leased_highest = excluded.leased_highest, dead_highest = excluded.dead_highest,
        oldest_visible_at = excluded.oldest_visible_at, oldest_ready_age_seconds = excluded.oldest_ready_age_seconds,
        added = excluded.added, removed = excluded.removed, published = excluded.published,
        delivered = excluded.delivered,
        redelivered = excluded.redelivered, acked = excluded.acked, nacked = excluded.nacked,
        lease_expired = excluded.lease_expired,
        dead_lettered = excluded.dead_lettered, deduplicated = excluded.deduplicated, redriven = excluded.redriven,
        refused = excluded.refused, waits = excluded.waits, work = excluded.work
    $sql$, v_step.coarser, v_step.finer, v_step.finer)
    using v_due.bucket_at, v_due.bucket_at + v_step.next_seconds * interval '1 second', v_due.seconds;
    insert into signalbox.history_record (step_seconds, bucket_at, seconds, aggregation_id)
    values (v_step.next_seconds, v_due.bucket_at, v_due.seconds, v_due.aggregation_id)
    on conflict (step_seconds, bucket_at) do update
      set seconds = excluded.seconds, aggregation_id = excluded.aggregation_id;
    v_made := v_made + 1;
  end loop;
  return v_made;
end $$;
