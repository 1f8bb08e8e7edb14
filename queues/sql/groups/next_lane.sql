-- next_lane(queue_id, after): the next message group of a queue in alphabetical order (null: the first) that has
-- messages waiting or in flight, or a limit of its own; null when there is none. Three index probes, whatever the
-- lengths.
create or replace function signalbox.next_lane(queue_id integer, after text default null) returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_next text;
begin
  select min(n.lane)
  into v_next
  from (
    (
      select w.lane from signalbox.waiting w
      where w.queue_id = next_lane.queue_id and w.lane >= coalesce(next_lane.after, '')
        and w.lane is distinct from next_lane.after
      order by w.lane
      limit 1
    )
    union all
    (
      select s.lane from signalbox.lane_slot s
      where s.queue_id = next_lane.queue_id and s.lane >= coalesce(next_lane.after, '')
        and s.lane is distinct from next_lane.after
      order by s.lane
      limit 1
    )
    union all
    (
      select o.lane from signalbox.lane_limit o
      where o.queue_id = next_lane.queue_id and o.lane >= coalesce(next_lane.after, '')
        and o.lane is distinct from next_lane.after
      order by o.lane
      limit 1
    )
  ) n;
  return v_next;
end $$;
