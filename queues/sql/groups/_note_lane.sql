-- Note what is known of a message group now, in place of the last note (`p_origin`): `place`, below which no message
-- waits and none can still appear, and `slot`, up to which the `holders` (message ids) are the only slots that may
-- still be taken. With a note, promoters do not read over consumed rows that vacuum cannot remove while a transaction
-- holds an old snapshot. Readers take the newest note, the last row of its index, so they never read the dead notes
-- before it.
-- The caller holds the group's lock, and has read the epoch before it read the group. The order of reads is the proof:
-- `place_horizon` says that transactions that drew an earlier place have ended (advance_floor); it is read before the
-- statement that looks for the first message, which therefore sees all of their messages. The horizon may have skipped
-- a sender that is still open. If that sender has its FIFO group's turn, the next sender must not overtake it: nothing
-- is noted while a sender has the turn, or while no upkeep leads. A message whose slot has a place may return to that
-- place, so `place` is never above it. `slot` rises one note later (to `latest`), so that `holders` lists only slots
-- that are held for long. Indexes: waiting_lane, lane_slot_lane.
create or replace function signalbox._note_lane(
  p_queue_id integer, p_lane text, p_epoch bigint, p_origin tid, p_place bigint, p_slot bigint, p_latest bigint,
  p_holders bigint[]
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
  v_returning bigint;
  v_latest bigint;
  v_holders bigint[];
begin
  if v_horizon = 0 or not signalbox._floors_are_kept() or current_setting('transaction_isolation') <> 'read committed'
    -- after the horizon: a sender that takes it now draws a later place
    or not signalbox._turn_is_free(p_queue_id, p_lane)
  then
    return;
  end if;
  select max(held.slot), array_agg(held.message_id) filter (where held.slot <= p_latest), min(held.place)
  into v_latest, v_holders, v_returning
  from (
    select s.slot, s.message_id, s.place
    from unnest(p_holders) k(message_id), lateral (
      select h.slot, h.message_id, h.place
      from signalbox.lane_slot h
      where h.message_id = any(array[k.message_id]) and h.slot <= p_slot
    ) s
    union all
    select s.slot, s.message_id, s.place
    from signalbox.lane_slot s
    where s.queue_id = p_queue_id and s.lane = p_lane and s.slot > p_slot
  ) held;
  -- After the slots: a message that has left its slot since is back at its place (_returns_to_group), and seen here.
  select w.place into v_first
  from signalbox.waiting w
  where w.queue_id = p_queue_id and w.lane = p_lane and w.place >= p_place
  order by w.place
  limit 1;
  insert into signalbox.lane_floor (queue_id, lane, epoch, place, slot, latest, holders)
  values (
    p_queue_id, p_lane, p_epoch, least(v_first, v_horizon, v_returning), p_latest, greatest(v_latest, p_latest),
    coalesce(v_holders, '{}')
  );
  delete from signalbox.lane_floor f where f.ctid = p_origin;
end $$;
