-- Free the slots of messages that are no longer in flight, with a wake-up row for each group. Messages without a slot
-- are skipped. Index: lane_slot_pkey.
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
    select g.queue_id, {event.left_lane}, count(*), g.lane from gone g group by g.queue_id, g.lane
  )
  insert into signalbox.lane_hint (queue_id, lane)
  select distinct g.queue_id, g.lane from gone g;
end $$;
