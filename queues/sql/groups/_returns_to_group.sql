-- Put a message back to its place in its FIFO group, if it was claimed together with others of the group
-- (receive_groups). Returns false, and does nothing, for every other message: its caller makes it ready. The caller has
-- counted the message as ready. Each message of such a claim returns to waiting, so that the first of them is promoted
-- first, whichever returned first. Index: lane_slot_pkey.
create or replace function signalbox._returns_to_group(
  p_queue_id integer, p_lane text, p_priority smallint, p_receive_count smallint, p_message_id bigint
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_place bigint;
begin
  delete from signalbox.lane_slot s
  where s.message_id = p_message_id and s.place is not null
  returning s.place into v_place;
  if not found then
    return false;
  end if;
  insert into signalbox.waiting (queue_id, lane, place, priority, receive_count, message_id)
  values (p_queue_id, p_lane, v_place, p_priority, p_receive_count, p_message_id);
  insert into signalbox.lane_hint (queue_id, lane) values (p_queue_id, p_lane);
  insert into signalbox.counter_delta (queue_id, event, amount, lane)
  values (p_queue_id, {event.returned_to_lane}, 1, p_lane), (p_queue_id, {event.left_lane}, 1, p_lane);
  return true;
end $$;
