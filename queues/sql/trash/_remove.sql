-- Remove messages of one queue and state, permanently or into the trash with a trash batch. The caller has locked their
-- rows, and names them by p_tids. Counters record the state that they left, and history how they ended; for messages in
-- the trash, history records it when the trash is emptied. Returns the ids of the messages, in order; null for none.
-- Reads the rows by their ctids.
create or replace function signalbox._remove(
  p_queue_id integer, p_state text, p_event smallint, p_outcome "char", p_tids tid[],
  p_trash_batch_id bigint default null
) returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids bigint[];
  v_counts smallint[];
  v_lanes text[];
begin
  with ready_gone as (
    delete from signalbox.ready r
    where p_state = 'ready' and r.ctid = any(p_tids)
    returning r.message_id, r.receive_count, r.priority, null::text as lane, 0::bigint as place,
    null::timestamptz as due_at
  ), scheduled_gone as (
    delete from signalbox.scheduled s
    where p_state = 'scheduled' and s.ctid = any(p_tids)
    returning s.message_id, s.receive_count, s.priority, null::text, 0::bigint, s.due_at
  ), waiting_gone as (
    delete from signalbox.waiting w
    where p_state = 'waiting' and w.ctid = any(p_tids)
    returning w.message_id, w.receive_count, w.priority, w.lane, w.place, null::timestamptz
  ), leased_gone as (
    delete from signalbox.lease l
    where p_state = 'leased' and l.ctid = any(p_tids)
    returning l.message_id, l.receive_count, l.priority, null::text, 0::bigint, null::timestamptz
  ), gone as (
    select * from ready_gone
    union all
    select * from scheduled_gone
    union all
    select * from waiting_gone
    union all
    select * from leased_gone
  ), trashed as (
    insert into signalbox.trash (trash_batch_id, position, message_id, queue_id, state, priority, receive_count, due_at)
    select p_trash_batch_id, g.place, g.message_id, p_queue_id, p_state, g.priority, g.receive_count, g.due_at
    from gone g
    where p_trash_batch_id is not null
  )
  select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id),
    array_agg(g.lane order by g.message_id)
  into v_ids, v_counts, v_lanes
  from gone g;
  if v_ids is null then
    return null;
  end if;
  perform signalbox._release_keys_of(p_queue_id, v_ids);
  if p_trash_batch_id is null then
    insert into signalbox.settled (queue_id, outcome, settled_at, message_ids, receive_counts, work_ms)
    values (p_queue_id, p_outcome, clock_timestamp(), v_ids, v_counts, '{}');
    if 0 < any(v_counts) then
      perform signalbox._forget_states(v_ids); -- messages in the trash keep their states until they are restored
    end if;
  end if;
  -- Each group counts the messages that it lost. A waiting message has no slot to leave.
  insert into signalbox.counter_delta (queue_id, event, amount, lane)
  select p_queue_id, p_event, count(*), l.lane from unnest(v_lanes) l(lane) group by l.lane;
  if p_state <> 'waiting' and exists (select from signalbox.lane_slot s where s.queue_id = p_queue_id) then
    perform signalbox._leave_lanes(v_ids);
  end if;
  return v_ids;
end $$;
