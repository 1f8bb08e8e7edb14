-- Let verbs notice that the policy of a message group has changed: the queue's flag, the audit, and a wake-up row,
-- without which no receiver would look at the group.
create or replace function signalbox._apply_group_policy(
  p_queue_id integer, p_queue text, p_group_id text, p_action text, p_details jsonb
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update signalbox.queue q set paused = q.paused
  where q.queue_id = p_queue_id and (q.admission_flags & {flag.limits_groups} > 0) <> exists (
    select from signalbox.lane_limit l where l.queue_id = p_queue_id and l.max_waiting is not null
  ); -- _set_admission_flags
  perform signalbox._audit_verb(p_action, p_queue_id, p_queue, jsonb_build_object('group_id', p_group_id) || p_details);
  insert into signalbox.lane_hint (queue_id, lane)
  select p_queue_id, p_group_id
  where exists (select from signalbox.claim_floor h where h.queue_id = p_queue_id and h.kind = {floor.lane_hint});
end $$;
