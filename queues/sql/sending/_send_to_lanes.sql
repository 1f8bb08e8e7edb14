-- Send a batch with groups and no other option: the messages wait in their groups, with one wake-up row for each group.
-- Messages without a group are ready at once unless the queue is FIFO.
create or replace function signalbox._send_to_lanes(
  p_queue_id integer, p_mode text, p_ids bigint[], p_payloads jsonb[], p_group_ids text[]
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  with given as materialized (
    select g.message_id, g.payload, g.group_id, g.place, signalbox._lane_of(p_mode, true, g.group_id) as lane
    from unnest(p_ids, p_payloads, p_group_ids) with ordinality g(message_id, payload, group_id, place)
  ), logged as (
    insert into signalbox.message (message_id, queue_id, payload, group_id, priority, sent_at)
    select g.message_id, p_queue_id, g.payload, g.group_id, 0::smallint, clock_timestamp() from given g
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select p_queue_id, case when g.lane is null then {event.published}
      else {event.published_waiting} end, count(*), g.lane from given g group by g.lane
  ), moment as materialized (
    select signalbox.clock_time() as at
  ), readied as (
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select p_queue_id, 0::smallint, 0::smallint, m.at + g.place * interval '1 microsecond', g.message_id
    from moment m, given g
    where g.lane is null
  ), hinted as (
    insert into signalbox.lane_hint (queue_id, lane)
    select distinct p_queue_id, g.lane from given g where g.lane is not null
  )
  insert into signalbox.waiting (queue_id, lane, priority, receive_count, message_id)
  select p_queue_id, g.lane, 0::smallint, 0::smallint, g.message_id
  from given g
  where g.lane is not null
  order by g.place;
end $$;
