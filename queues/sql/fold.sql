-- fold(): add the counter deltas that became visible since the last fold to the totals; returns the queues that changed.
-- A delta is folded exactly once: it is visible in this fold's snapshot and was not in the last one's. One statement reads
-- the deltas and takes the snapshot; readers add what the stored snapshot does not cover. Only one fold at a time
-- (try-lock), and only in READ COMMITTED, or its snapshot could be older than the last fold's. Waits and work times are
-- counted by buckets on the way (queue_durations). Totals are indexed by event number; 48 leave room for events to come.
-- Indexes: counter_delta_txid and settled_ids (BRIN on the transaction id).
create or replace function signalbox.fold() returns integer[]
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
    perform signalbox._refuse_isolation('fold');
  end if;
  if not pg_try_advisory_xact_lock(hashtext('signalbox.fold'), 0) then
    return null;
  end if;
  select * into v_last from signalbox._last_fold();
  if signalbox._is_from_elsewhere('counters', v_last.xmax) then
    perform signalbox._rebase_counters();
    v_own := pg_current_xact_id()::text::bigint;
    select * into v_last from signalbox._last_fold();
  end if;
  v_lanes := exists (select from signalbox.head h where h.kind = 12);
  with deltas as materialized (
    select f.queue_id, f.event, f.amount, f.ms, 1 as sign
    from signalbox._unfolded_timed(v_last.xmin, v_last.xmax, v_last.xip) f
    union all
    select o.queue_id, o.event, -o.amount, o.ms, -1
    from signalbox._unfolded_timed(v_own, 9223372036854775807, array[v_own]) o
  ), fresh as materialized (
    select u.queue_id, u.event, sum(u.amount)::bigint as amount, signalbox._fold_snapshot() as snapshot
    from deltas u
    group by u.queue_id, u.event
    having sum(u.amount) <> 0
  ), timed as (
    select p.queue_id, array_agg(p.place) as places, array_agg(p.amount) as amounts
    from (
      select t.queue_id, n.place, sum(n.amount)::bigint as amount
      from (
        select d.queue_id, case d.event when 3 then 0 else 15 end + signalbox._duration_bucket(e.ms) as place,
          sum(d.sign) as amount, sum(d.sign * e.ms::bigint) as ms
        from deltas d, unnest(d.ms) e(ms)
        group by 1, 2
      ) t
      join signalbox.queue q on q.queue_id = t.queue_id
      cross join lateral (
        values (t.place, t.amount), (case when t.place > 15 then 32 else 31 end, t.ms),
          (case when t.place <= signalbox._duration_bucket((q.wait_target_seconds * 1000)::integer) then 33 end, t.amount)
      ) n(place, amount)
      where n.place is not null
      group by t.queue_id, n.place
    ) p
    group by p.queue_id
  ), noted as (
    insert into signalbox.fold (folded_at, snapshot)
    select clock_timestamp(), f.snapshot from fresh f limit 1
    returning fold_id, folded_at
  ), changed as materialized (
    select distinct f.queue_id from fresh f
  ), stored as (
    insert into signalbox.queue_stat (queue_id, fold_id, folded_at, totals, durations)
    select c.queue_id, n.fold_id, n.folded_at,
      array(
        select coalesce(b.totals[e], 0) + coalesce(c.amounts[array_position(c.events, e::smallint)], 0)
        from generate_series(1, 48) e
      ),
      case when t.queue_id is null then b.durations else array(
        select coalesce(b.durations[e], 0) + coalesce(t.amounts[array_position(t.places, e)], 0)
        from generate_series(1, 33) e
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
      order by s.fold_id desc
      limit 1
    ) b on true
  ), lanes as materialized (
    select l.queue_id, l.lane, sum(l.waiting)::bigint as waiting, sum(l.under_way)::bigint as under_way
    from (
      select f.queue_id, f.lane, f.waiting, f.under_way
      from signalbox._unfolded_lanes(v_last.xmin, v_last.xmax, v_last.xip) f
      union all
      select o.queue_id, o.lane, -o.waiting, -o.under_way
      from signalbox._unfolded_lanes(v_own, 9223372036854775807, array[v_own]) o
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
      order by s.fold_id desc
      limit 1
    ) b on true
  ), lanes_outdated as (
    delete from signalbox.lane_stat s where s.ctid = any(array(select b.origin from lanes_before b))
  ), lanes_stored as (
    insert into signalbox.lane_stat (queue_id, lane, fold_id, folded_at, waiting, under_way)
    select b.queue_id, b.lane, n.fold_id, n.folded_at,
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

-- This statement's snapshot, with the transaction that folds among those it does not cover: it sees its own deltas and
-- may write more of them, so they are left to a later fold.
create or replace function signalbox._fold_snapshot() returns pg_snapshot
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select format('%s:%s:%s', pg_snapshot_xmin(s), pg_snapshot_xmax(s), (
    select string_agg(open.xid::text, ',' order by open.xid)
    from (select pg_snapshot_xip(s) union select own where own < pg_snapshot_xmax(s)) open(xid)
  ))::pg_snapshot
  from pg_current_snapshot() s, pg_current_xact_id_if_assigned() own
$$;

-- The last fold and the parts of its snapshot as plain numbers, so that index conditions can use them.
create or replace function signalbox._last_fold()
returns table (fold_id bigint, folded_at timestamptz, xmin bigint, xmax bigint, xip bigint[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select f.fold_id, f.folded_at, pg_snapshot_xmin(f.snapshot)::text::bigint, pg_snapshot_xmax(f.snapshot)::text::bigint,
    array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x)
  from signalbox.fold f
  order by f.fold_id desc
  limit 1
$$;

-- Deltas that a snapshot does not cover. An acknowledgement's row of history is its own delta.
-- A transaction that is still open shows nothing yet, so the search begins at the oldest of those that have ended since:
-- one that stays open for hours does not make every fold read hours. ms: the waits of first deliveries, the work of what
-- was acknowledged, each in milliseconds.
create or replace function signalbox._unfolded_timed(p_xmin bigint, p_xmax bigint, p_xip bigint[])
returns table (queue_id integer, event smallint, amount bigint, ms integer[])
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.queue_id, d.event, d.amount, d.waits_ms
  from signalbox.counter_delta d
  where d.txid >= (select signalbox._first_ended(p_xmax, p_xip)) and (d.txid >= p_xmax or d.txid = any(p_xip))
  union all
  select s.queue_id, 5::smallint, cardinality(s.message_ids)::bigint, s.work_ms
  from signalbox.settled s
  where s.txid >= (select signalbox._first_ended(p_xmax, p_xip)) and (s.txid >= p_xmax or s.txid = any(p_xip))
    and s.outcome = 'a'
$$;

-- The same of lanes: what entered and left each, waiting and under way. Event 35 moves from one to the other.
create or replace function signalbox._unfolded_lanes(p_xmin bigint, p_xmax bigint, p_xip bigint[])
returns table (queue_id integer, lane text, waiting bigint, under_way bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.queue_id, d.lane,
    case when d.event in (33, 37, 38, 39, 42) then d.amount when d.event in (34, 35, 36) then -d.amount else 0 end,
    case d.event when 35 then d.amount when 48 then -d.amount else 0 end
  from signalbox.counter_delta d
  where d.txid >= (select signalbox._first_ended(p_xmax, p_xip)) and (d.txid >= p_xmax or d.txid = any(p_xip))
    and d.lane is not null
$$;

-- The first of these transactions that the statement asking can see the work of, its own included; else p_xmax.
create or replace function signalbox._first_ended(p_xmax bigint, p_xip bigint[]) returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(min(x), p_xmax)
  from unnest(p_xip) x
  where pg_visible_in_snapshot(x::text::xid8, pg_current_snapshot()) or x = pg_current_xact_id_if_assigned()::text::bigint
$$;
