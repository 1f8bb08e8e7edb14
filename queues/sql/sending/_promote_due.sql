-- Make scheduled messages ready that are due. Their time is the time of promotion, so they never come below the claim
-- floor. Messages of a group in which they hold no slot wait in their group. Bounded, SKIP LOCKED: two callers share
-- the work. Index: scheduled_due.
create or replace function signalbox._promote_due(p_queue_id integer, p_floor timestamptz, p_limit integer)
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp(); -- a constant is an index condition; the volatile function is a filter
  v_promoted integer;
begin
  with due as (
    delete from signalbox.scheduled s
    where s.ctid = any(array(
      select c.ctid
      from signalbox.scheduled c
      where c.queue_id = p_queue_id and c.due_at >= p_floor and c.due_at <= v_now
      order by c.due_at, c.message_id
      limit p_limit
      for update skip locked
    ))
    returning s.priority, s.receive_count, s.message_id, s.lane
  ), sorted as materialized (
    select d.*, d.lane is not null and not exists (
      select from signalbox.lane_slot s where s.message_id = any(array[d.message_id])
    ) as must_wait
    from due d
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select p_queue_id, case when s.must_wait then {event.promoted_waiting}
      else {event.promoted} end, count(*), s.waits_in
    from (select d.*, case when d.must_wait then d.lane end as waits_in from sorted d) s
    group by s.must_wait, s.waits_in
  ), waiting as (
    insert into signalbox.waiting (queue_id, lane, priority, receive_count, message_id)
    select p_queue_id, s.lane, s.priority, s.receive_count, s.message_id from sorted s where s.must_wait
      order by s.message_id
  ), hinted as (
    insert into signalbox.lane_hint (queue_id, lane)
    select distinct p_queue_id, s.lane from sorted s where s.must_wait
  ), readied as (
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
    select p_queue_id, s.priority, s.receive_count, signalbox.clock_time(), s.message_id, s.lane
    from sorted s
    where not s.must_wait
      and case when s.lane is null then true else not signalbox._returns_to_group(
        p_queue_id, s.lane, s.priority, s.receive_count, s.message_id
      ) end
    order by s.message_id
  )
  select count(*) into v_promoted from sorted;
  return v_promoted;
end $$;
