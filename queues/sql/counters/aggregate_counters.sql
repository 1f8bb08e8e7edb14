-- aggregate_counters(): add the counter deltas that became visible since the last aggregation to the totals. Returns
-- the queues that changed. Each delta is added exactly once: it is visible in this aggregation's snapshot and was not
-- in the last one's. One statement reads the deltas and takes the snapshot; readers add the deltas that the stored
-- snapshot does not cover. One aggregation runs at a time (try-lock), in READ COMMITTED only, or its snapshot could be
-- older than the last aggregation's. Waits and work times are counted by buckets on the way (queue_durations).
-- Indexes: counter_delta_txid and settled_ids (BRIN on the transaction id).
create or replace function signalbox.aggregate_counters() returns integer[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last record;
  v_own bigint := pg_current_xact_id_if_assigned()::text::bigint;
  v_changed integer[];
  v_lanes boolean;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('aggregate_counters');
  end if;
  if not pg_try_advisory_xact_lock(hashtext('signalbox.aggregate_counters'), 0) then
    return null;
  end if;
  select * into v_last from signalbox._last_aggregation();
  if signalbox._is_from_elsewhere('counters', v_last.xmax) then
    perform signalbox._rebase_counters();
    v_own := pg_current_xact_id()::text::bigint;
    select * into v_last from signalbox._last_aggregation();
  end if;
  v_lanes := exists (select from signalbox.claim_floor h where h.kind = {floor.lane_hint});
  with deltas as materialized (
    select f.queue_id, f.event, f.amount, f.ms, 1 as sign
    from signalbox._pending_deltas(v_last.xmin, v_last.xmax, v_last.xip) f
    union all
    select o.queue_id, o.event, -o.amount, o.ms, -1
    from signalbox._pending_deltas(v_own, 9223372036854775807, array[v_own]) o
  ), fresh as materialized (
    select u.queue_id, u.event, sum(u.amount)::bigint as amount, signalbox._aggregation_snapshot() as snapshot
    from deltas u
    group by u.queue_id, u.event
    having sum(u.amount) <> 0
  ), timed as (
    select p.queue_id, array_agg(p.place) as places, array_agg(p.amount) as amounts
    from (
      select t.queue_id, n.place, sum(n.amount)::bigint as amount
      from (
        select d.queue_id, case d.event when {event.delivered} then {duration.waits} else {duration.work} end
            + signalbox._duration_bucket(e.ms) - 1 as place,
          sum(d.sign) as amount, sum(d.sign * e.ms::bigint) as ms
        from deltas d, unnest(d.ms) e(ms)
        group by 1, 2
      ) t
      join signalbox.queue q on q.queue_id = t.queue_id
      cross join lateral (
        values
          (t.place, t.amount),
          (case when t.place < {duration.work} then {duration.wait_ms} else {duration.work_ms} end, t.ms),
          (case when t.place <= signalbox._duration_bucket((q.wait_target_seconds * 1000)::integer)
            then {duration.within_target} end, t.amount)
      ) n(place, amount)
      where n.place is not null
      group by t.queue_id, n.place
    ) p
    group by p.queue_id
  ), noted as (
    insert into signalbox.aggregation (aggregated_at, snapshot)
    select clock_timestamp(), f.snapshot from fresh f limit 1
    returning aggregation_id, aggregated_at
  ), changed as materialized (
    select distinct f.queue_id from fresh f
  ), stored as (
    insert into signalbox.queue_stat (queue_id, aggregation_id, aggregated_at, totals, durations)
    select c.queue_id, n.aggregation_id, n.aggregated_at,
      array(
        select coalesce(b.totals[e], 0) + coalesce(c.amounts[array_position(c.events, e::smallint)], 0)
        from generate_series(1, {events.count}) e
      ),
      case when t.queue_id is null then b.durations else array(
        select coalesce(b.durations[e], 0) + coalesce(t.amounts[array_position(t.places, e)], 0)
        from generate_series(1, {duration.places}) e
      ) end
    from noted n
    cross join (
      select f.queue_id, array_agg(f.event) as events, array_agg(f.amount) as amounts from fresh f group by f.queue_id
    ) c
    left join timed t on t.queue_id = c.queue_id
    left join lateral (
      select s.totals, s.durations
      from signalbox.queue_stat s
      where s.queue_id = c.queue_id
      order by s.aggregation_id desc
      limit 1
    ) b on true
  ), lanes as materialized (
    select l.queue_id, l.lane, sum(l.waiting)::bigint as waiting, sum(l.under_way)::bigint as under_way
    from (
      select f.queue_id, f.lane, f.waiting, f.under_way
      from signalbox._pending_lane_deltas(v_last.xmin, v_last.xmax, v_last.xip) f
      union all
      select o.queue_id, o.lane, -o.waiting, -o.under_way
      from signalbox._pending_lane_deltas(v_own, 9223372036854775807, array[v_own]) o
    ) l
    where v_lanes
    group by l.queue_id, l.lane
    having sum(l.waiting) <> 0 or sum(l.under_way) <> 0
  ), lanes_before as materialized (
    select l.queue_id, l.lane, l.waiting, l.under_way, b.origin, b.waiting as before, b.under_way as under_way_before
    from noted n, lanes l
    left join lateral (
      select s.ctid as origin, s.waiting, s.under_way
      from signalbox.lane_stat s
      where s.queue_id = l.queue_id and s.lane = l.lane
      order by s.aggregation_id desc
      limit 1
    ) b on true
  ), lanes_outdated as (
    delete from signalbox.lane_stat s where s.ctid = any(array(select b.origin from lanes_before b))
  ), lanes_stored as (
    insert into signalbox.lane_stat (queue_id, lane, aggregation_id, aggregated_at, waiting, under_way)
    select b.queue_id, b.lane, n.aggregation_id, n.aggregated_at,
      coalesce(b.before, 0) + b.waiting, coalesce(b.under_way_before, 0) + b.under_way
    from noted n, lanes_before b
  )
  select array_agg(c.queue_id) into v_changed from changed c;
  if v_changed is not null then
    perform pg_notify('signalbox_stat', string_agg(chunk.queue_id::text, ','))
    from (select q.queue_id, (row_number() over ()) / 500 as part from unnest(v_changed) q(queue_id)) chunk
    group by chunk.part;
  end if;
  return coalesce(v_changed, '{}');
end $$;
