-- Write down what is known of a lane now, in place of what was known before (`p_origin`): `place`, below which nothing waits
-- and nothing can still appear, and `slot`, up to which the `holders` (message ids) are the only slots that may still be taken.
-- It spares promoters the walk over what the lane has consumed while an old snapshot keeps vacuum away. The newest row is
-- the last of its index, so the dead ones before it are never met.
-- The caller has the lane's lock, and has read the epoch before what it knows. The order is the proof: `place_horizon`
-- says that whoever drew an earlier place has ended (advance_floor); it is read before the statement that looks for the
-- first message, which therefore sees all of theirs. A sender that was passed has not ended, and where it has its FIFO
-- group's turn the next one must not overtake it: while anybody has the turn, nothing is noted. Nor is it without an upkeep
-- that leads. `slot` follows by one note (`latest`), so that only what is held for long is listed.
-- Indexes: waiting_lane, lane_slot_lane.
create or replace function signalbox._note_lane(
  p_queue_id integer, p_lane text, p_epoch bigint, p_origin tid, p_place bigint, p_slot bigint, p_latest bigint, p_holders bigint[]
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_horizon bigint := coalesce(pg_sequence_last_value('signalbox.place_horizon'::regclass), 0);
  v_first bigint;
  v_latest bigint;
  v_holders bigint[];
begin
  if v_horizon = 0 or not signalbox._floors_are_kept() or current_setting('transaction_isolation') <> 'read committed'
    or not signalbox._turn_is_free(p_queue_id, p_lane) -- after the horizon: whoever takes it now draws a later place
  then
    return;
  end if;
  select w.place into v_first
  from signalbox.waiting w
  where w.queue_id = p_queue_id and w.lane = p_lane and w.place >= p_place
  order by w.place
  limit 1;
  select max(held.slot), array_agg(held.message_id) filter (where held.slot <= p_latest)
  into v_latest, v_holders
  from (
    select s.slot, s.message_id
    from unnest(p_holders) k(message_id), lateral (
      select h.slot, h.message_id
      from signalbox.lane_slot h
      where h.message_id = any(array[k.message_id]) and h.slot <= p_slot
    ) s
    union all
    select s.slot, s.message_id
    from signalbox.lane_slot s
    where s.queue_id = p_queue_id and s.lane = p_lane and s.slot > p_slot
  ) held;
  insert into signalbox.lane_floor (queue_id, lane, epoch, place, slot, latest, holders)
  values (
    p_queue_id, p_lane, p_epoch, least(v_first, v_horizon), p_latest, greatest(v_latest, p_latest), coalesce(v_holders, '{}')
  );
  delete from signalbox.lane_floor f where f.ctid = p_origin;
end $$;

-- Does nobody have the turn of this FIFO group at this moment? Waits for nobody, and lets go at once, as _take does.
create or replace function signalbox._turn_is_free(p_queue_id integer, p_lane text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_free boolean;
begin
  begin
    v_free := pg_try_advisory_xact_lock_shared(signalbox._fifo_turn(p_queue_id, p_lane));
    raise exception using errcode = 'SB000';
  exception
    when sqlstate 'SB000' then
      return v_free;
  end;
end $$;

-- Does an upkeep lead and move the clock? Else no floor is believed (floor_time).
create or replace function signalbox._floors_are_kept() returns boolean
language sql volatile
begin atomic
  select coalesce(pg_sequence_last_value('signalbox.clock'::regclass)
    > date_part('epoch', clock_timestamp()) * 1000000 - 10000000, false);
end;

-- From now on nothing is known of any lane, and every lane in which something waits is looked at again: a writer whom the
-- horizon had passed has ended, or who had been passed is not known. The epoch moves first; whoever has seen one of these
-- hints reads the new one. Called by the leader of the floors.
create or replace function signalbox._distrust_lanes() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform nextval('signalbox.lane_epoch'::regclass);
  perform signalbox._hint_lanes(null, true);
end $$;

-- forget_lanes(): what is known of lanes that have been empty for a minute is removed, so that they leave no row. To know
-- less is always safe. Returns how many.
create or replace function signalbox.forget_lanes(max_lanes integer default 1000) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_forgotten bigint;
begin
  delete from signalbox.lane_floor f
  where f.ctid = any(array(
    select q.ctid
    from signalbox.lane_floor q
    where q.noted_at < clock_timestamp() - interval '1 minute'
      and not exists (select from signalbox.waiting w where w.queue_id = q.queue_id and w.lane = q.lane and w.place >= q.place)
      and not exists (select from signalbox.lane_slot s where s.queue_id = q.queue_id and s.lane = q.lane and s.slot > q.slot)
      and not exists (select from signalbox.lane_slot s where s.message_id = any(q.holders))
    limit forget_lanes.max_lanes
  ));
  get diagnostics v_forgotten = row_count;
  return v_forgotten;
end $$;
