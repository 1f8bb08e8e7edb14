-- The groups of a FIFO queue that wait in this cell for another one to
-- hand out what it has, in alphabetical order from `after` on. Walks from group to group.
create or replace function signalbox._fleet_waiting_groups(queue text, after text, max_groups integer) returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_lane text := _fleet_waiting_groups.after;
  v_lanes text[] := '{}';
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = _fleet_waiting_groups.queue;
  loop
    v_lane := signalbox.next_lane(v_queue_id, v_lane);
    exit when v_lane is null or cardinality(v_lanes) >= _fleet_waiting_groups.max_groups;
    if signalbox._waits_for_source(_fleet_waiting_groups.queue, v_lane) then
      v_lanes := v_lanes || v_lane;
    end if;
  end loop;
  return v_lanes;
end $$;
