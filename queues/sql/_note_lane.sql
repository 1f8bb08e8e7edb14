-- What is known of a lane: `place`, below which nothing waits and nothing can still appear; `slot`, up to which the
-- `holders` (message ids) are the only slots that may still be taken. It spares promoters the walk over what the lane has
-- consumed while an old snapshot keeps vacuum away. The newest row is the last of its index, so the dead ones before it are
-- never met; whoever reads or writes it has the lane's lock. Nothing is known: all zero, and the walk is from the start.
create or replace function signalbox._lane_knowledge(p_queue_id integer, p_lane text, p_epoch bigint)
returns signalbox.lane_knowledge
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_epoch bigint;
  v_known signalbox.lane_knowledge;
begin
  select f.epoch, f.ctid, f.place, f.slot, f.holders
  into v_epoch, v_known.origin, v_known.place, v_known.slot, v_known.holders
  from signalbox.lane_floor f
  where f.queue_id = p_queue_id and f.lane = p_lane
  order by f.noted desc
  limit 1;
  if v_epoch = p_epoch and signalbox.floor_time('signalbox.lane_epoch'::regclass) > '-infinity' then
    return v_known;
  end if;
  return row(v_known.origin, 0, 0, '{}'::bigint[])::signalbox.lane_knowledge;
end $$;

-- Write down what is known of a lane now, in place of what was known before. The caller has the lane's lock, and has read
-- the epoch before what it knows. The order is the proof: `place_horizon` says that whoever drew an earlier place has
-- ended (advance_floor); it is read before the statement that looks for the first message, which therefore sees all of
-- theirs. Without an upkeep that leads nothing is noted. Indexes: waiting_lane, lane_slot_lane.
create or replace function signalbox._note_lane(
  p_queue_id integer, p_lane text, p_epoch bigint, p_known signalbox.lane_knowledge
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_horizon bigint := coalesce(pg_sequence_last_value('signalbox.place_horizon'::regclass), 0);
  v_first bigint;
  v_slot bigint;
  v_holders bigint[];
begin
  if v_horizon = 0
    or signalbox.floor_time('signalbox.lane_epoch'::regclass) = '-infinity'
    or current_setting('transaction_isolation') <> 'read committed'
  then
    return;
  end if;
  select w.place into v_first
  from signalbox.waiting w
  where w.queue_id = p_queue_id and w.lane = p_lane and w.place >= p_known.place
  order by w.place
  limit 1;
  select max(held.slot), array_agg(held.message_id)
  into v_slot, v_holders
  from (
    select s.slot, s.message_id
    from unnest(p_known.holders) k(message_id), lateral (
      select h.slot, h.message_id
      from signalbox.lane_slot h
      where h.message_id = any(array[k.message_id]) and h.slot <= p_known.slot
    ) s
    union all
    select s.slot, s.message_id
    from signalbox.lane_slot s
    where s.queue_id = p_queue_id and s.lane = p_lane and s.slot > p_known.slot
  ) held;
  insert into signalbox.lane_floor (queue_id, lane, epoch, place, slot, holders)
  values (
    p_queue_id, p_lane, p_epoch, least(v_first, v_horizon), coalesce(v_slot, p_known.slot), coalesce(v_holders, '{}')
  );
  delete from signalbox.lane_floor f where f.ctid = p_known.origin;
end $$;

-- From now on nothing is known of any lane, and every lane in which something waits is looked at again: a writer whom the
-- horizon had passed has ended, or who had been passed is not known. The epoch moves first; whoever has seen one of these
-- hints reads the new one. Called by the leader of the floors.
create or replace function signalbox._distrust_lanes() returns void
language plpgsql
as $$
begin
  perform nextval('signalbox.lane_epoch'::regclass);
  perform signalbox._hint_lanes(null, true);
end $$;

-- forget_lanes(): what is known of lanes that have been empty for a minute is removed, so that they leave no row.
-- A lane whose lock is taken is left alone. Returns how many.
create or replace function signalbox.forget_lanes(max_lanes integer default 1000) returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_forgotten bigint;
begin
  with quiet as materialized (
    select f.queue_id, f.lane
    from signalbox.lane_floor f
    where f.noted_at < clock_timestamp() - interval '1 minute'
      and not exists (select from signalbox.waiting w where w.queue_id = f.queue_id and w.lane = f.lane and w.place >= f.place)
      and not exists (select from signalbox.lane_slot s where s.queue_id = f.queue_id and s.lane = f.lane and s.slot > f.slot)
      and not exists (select from signalbox.lane_slot s where s.message_id = any(f.holders))
    limit forget_lanes.max_lanes
  ), locked as materialized (
    select q.queue_id, q.lane from quiet q where pg_try_advisory_xact_lock(signalbox._lane_lock(q.queue_id, q.lane))
  )
  delete from signalbox.lane_floor f
  using locked l
  where f.queue_id = l.queue_id and f.lane = l.lane;
  get diagnostics v_forgotten = row_count;
  return v_forgotten;
end $$;

-- The key of the lock that a promoter of a lane has.
create or replace function signalbox._lane_lock(p_queue_id integer, p_lane text) returns bigint
language sql immutable as $$
  select hashtextextended(p_queue_id || ':' || p_lane, 2)
$$;
