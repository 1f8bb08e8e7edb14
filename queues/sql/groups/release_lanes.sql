-- release_lanes(max_lanes): make messages ready whose message group has room, for all queues with wake-up rows, as
-- receive does first. Upkeep calls it, so that a sleeping consumer is woken. Returns how many messages became ready.
-- One probe for each queue that ever had limited groups.
create or replace function signalbox.release_lanes(max_lanes integer default 100) returns bigint
language plpgsql
set lock_timeout = '200ms'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  v_queue_id integer;
  v_released bigint := 0;
begin
  for v_queue_id in
    select h.queue_id
    from (
      select l.queue_id, max(signalbox.floor_time(l.floor)) as floor
      from signalbox.claim_floor l
      where l.kind = {floor.lane_hint}
      group by l.queue_id
    ) h
    where (
      -- In order, and without exists(): otherwise the plan may use the index of lanes, and read all dead hints.
      select true
      from signalbox.lane_hint n
      where n.queue_id = h.queue_id and n.due_at >= h.floor and n.due_at <= v_now
      order by n.due_at
      limit 1
    )
  loop
    begin
      v_released := v_released + case
        when exists (
          select from signalbox.queue q
          where q.queue_id = v_queue_id and q.fair_groups and q.mode <> 'fifo' and q.group_max_in_flight = 0
        )
        then signalbox._share_lanes(v_queue_id, 0)
        else signalbox._promote_lanes(v_queue_id, release_lanes.max_lanes)
      end;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('release_lanes', v_queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_released;
end $$;
