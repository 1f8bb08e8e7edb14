-- Put a message behind the others of its message group: a row in waiting, and a wake-up row that says where to look.
-- Messages of such groups never go to ready by themselves. Inserts only; never waits: receivers take wake-up rows and
-- promote (_promote_lanes).
create or replace function signalbox._enter_lane(
  p_queue_id integer, p_lane text, p_priority smallint, p_receive_count smallint, p_message_id bigint
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.waiting (queue_id, lane, priority, receive_count, message_id)
  values (p_queue_id, p_lane, p_priority, p_receive_count, p_message_id);
  insert into signalbox.lane_hint (queue_id, lane) values (p_queue_id, p_lane);
end $$;
