-- Messages of lanes never go to ready by themselves: they take their place in waiting, and a hint says where to look.
-- Nobody waits for a lane: whoever receives takes hints and promotes (_promote_lanes). Inserts only.
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

-- These messages are no longer under way: their slots are free, and a hint for each lane says so. Of messages that held
-- no slot nothing is done. Index: lane_slot_pkey.
create or replace function signalbox._leave_lanes(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  with gone as (
    delete from signalbox.lane_slot s where s.message_id = any(p_message_ids) returning s.queue_id, s.lane
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select g.queue_id, 48::smallint, count(*), g.lane from gone g group by g.queue_id, g.lane
  )
  insert into signalbox.lane_hint (queue_id, lane)
  select distinct g.queue_id, g.lane from gone g;
end $$;

-- The lane of a message in a queue: its group where the queue limits groups, null where it does not. In a FIFO queue a
-- message without a group is of one lane with all others without.
create or replace function signalbox._lane_of(p_mode text, p_max_in_flight bigint, p_group_id text) returns text
language sql immutable
begin atomic
  select case when p_mode = 'fifo' then coalesce(p_group_id, '') when p_max_in_flight > 0 then p_group_id end;
end;

-- Senders to one FIFO group take turns, from before their message's place is drawn until they commit: so the order of
-- places is the order of commits. The key of that turn.
create or replace function signalbox._fifo_turn(p_queue_id integer, p_group_id text) returns bigint
language sql immutable
begin atomic
  select hashtextextended(p_queue_id || ':' || coalesce(p_group_id, ''), 1);
end;
