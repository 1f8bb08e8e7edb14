-- Let restored dead letters hold their FIFO groups, as before they were deleted: the first of each group, unless
-- another message of the group is ready or in flight by now, or another transaction lets one go at this moment. Never
-- waits. Indexes: dead_letter_message_id_key (by any: see ack), lane_slot_lane.
create or replace function signalbox._hold_groups_again(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
begin
  for v_letter in
    select d.source_queue_id as queue_id, coalesce(d.group_id, '') as lane, min(d.message_id) as message_id
    from signalbox.dead_letter d
    join signalbox.queue q on q.queue_id = any(array[d.source_queue_id]) and q.fifo_block_on_dead_letter
    where d.message_id = any(p_message_ids)
    group by d.source_queue_id, coalesce(d.group_id, '')
    order by 1, 2
  loop
    -- A process that promotes a message of the lane holds this lock (_promote_lanes).
    if signalbox._holds_groups(v_letter.queue_id)
      and pg_try_advisory_xact_lock(hashtextextended(v_letter.queue_id || ':' || v_letter.lane, 2))
    then
      with held as (
        insert into signalbox.lane_slot (message_id, queue_id, lane)
        select v_letter.message_id, v_letter.queue_id, v_letter.lane
        where not exists (
          select from signalbox.lane_slot s where s.queue_id = v_letter.queue_id and s.lane = v_letter.lane
        )
        returning queue_id, lane
      )
      insert into signalbox.counter_delta (queue_id, event, amount, lane)
      select h.queue_id, {event.left_lane}, -1, h.lane from held h; -- takes back the event of leaving the lane
    end if;
  end loop;
end $$;
