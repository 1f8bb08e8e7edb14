-- Refuse a send that would make more messages wait in a group than its own policy or group_max_waiting allows. Counts
-- up to that number by index, from the first place that may still be taken: uncommitted messages are not counted, so
-- that senders at the same moment may exceed it by their number (in a FIFO queue they take turns, and it is exact).
-- Messages that return to their group, after a pause or by redrive, are never refused. Locks nothing. Index:
-- waiting_lane.
create or replace function signalbox._refuse_full_lane(
  p_queue_id integer, p_lane text, p_limit bigint, p_more bigint default 1
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_place bigint := (
    select case when f.epoch = pg_sequence_last_value('signalbox.lane_epoch'::regclass) and signalbox._floors_are_kept()
      then f.place end
    from signalbox.lane_floor f
    where f.queue_id = p_queue_id and f.lane = p_lane
    order by f.noted desc
    limit 1
  );
  v_waiting bigint;
  v_limit bigint := coalesce(
    (select l.max_waiting from signalbox.lane_limit l where l.queue_id = p_queue_id and l.lane = p_lane), p_limit
  );
begin
  if v_limit = 0 then
    return; -- other groups have limits
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    -- an older snapshot would show too few waiting messages
    perform signalbox._refuse_isolation('send to a queue with group_max_waiting');
  end if;
  select count(*)
  into v_waiting
  from (
    select
    from signalbox.waiting w
    where w.queue_id = p_queue_id and w.lane = p_lane and w.place >= coalesce(v_place, 0)
    order by w.place
    limit v_limit
  ) w;
  if v_waiting + p_more <= v_limit then
    return;
  end if;
  perform nextval(r.counter) from signalbox.refusal r where r.queue_id = p_queue_id and r.reason = 'lane';
  raise exception using
    errcode = 'SB429',
    message = format(
      '%s messages wait in the message group %s; allowed: %s', v_waiting, quote_literal(left(p_lane, 120)), v_limit
    ),
    detail = json_build_object(
      'reason', 'lane', 'limit', v_limit, 'actual', v_waiting + p_more,
      'retry_after', case when p_more <= v_limit then (
        select greatest(q.group_release_interval_seconds, 1) from signalbox.queue q where q.queue_id = p_queue_id
      ) end
    ),
    hint = 'The group has room again when its messages are acknowledged.',
    column = 'group_max_waiting';
end $$;
