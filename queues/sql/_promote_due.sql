-- Scheduled messages that are due become claimable; their time is the time of promotion, so they never land below the
-- claim floor. Bounded, SKIP LOCKED: two callers share the work. Index: scheduled_due.
create or replace function signalbox._promote_due(p_queue_id integer, p_floor timestamptz, p_limit integer) returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := clock_timestamp(); -- as a value: an index condition, where the volatile function is a filter
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
    returning s.priority, s.receive_count, s.message_id
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount)
    select p_queue_id, 12::smallint, count(*) from due having count(*) > 0
  )
  insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
  select p_queue_id, d.priority, d.receive_count, signalbox.clock_time(), d.message_id
  from due d
  order by d.message_id;
  get diagnostics v_promoted = row_count;
  return v_promoted;
end $$;
