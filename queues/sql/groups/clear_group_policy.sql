-- clear_group_policy(queue, group_name): let the values of the queue apply to a message group again. Returns whether it
-- had a policy.
create or replace function signalbox.clear_group_policy(queue text, group_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue record := signalbox._queue_of_group(clear_group_policy.queue, clear_group_policy.group_name);
begin
  delete from signalbox.lane_limit l
  where l.queue_id = v_queue.queue_id and l.lane = clear_group_policy.group_name;
  if not found then
    return false;
  end if;
  perform signalbox._apply_group_policy(
    v_queue.queue_id, clear_group_policy.queue, clear_group_policy.group_name, 'lane.limit', '{}'
  );
  return true;
end $$;
