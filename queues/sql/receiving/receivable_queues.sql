-- receivable_queues(queues): which of these queues have a message to receive, as far as the first entries of their
-- indexes tell: a ready, due or expired message, a message group with a wake-up row, or a dead letter. One statement
-- for all waiting consumers, instead of a receive for each of them every second; another consumer or a limit may still
-- hold the message back. Indexes, from their claim floors: ready_claim, lease_deadline, scheduled_due, lane_hint_due,
-- dead_letter_queue.
create or replace function signalbox.receivable_queues(queues text[]) returns setof text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp(); -- a constant is an index condition; the volatile function is a filter
begin
  return query
  select g.name
  from unnest(receivable_queues.queues) g(name)
  join signalbox.queue q on q.queue_id = coalesce(
    (select n.queue_id from signalbox.queue n where n.name = g.name),
    (select a.queue_id from signalbox.queue_alias a where a.name = g.name and a.works_until > v_now)
  )
  where not q.paused and q.admission_flags & {flag.holds_claims} = 0 and (
    exists (
      select
      from signalbox.claim_floor h, lateral (select signalbox.floor_time(h.floor) as at) f
      where h.queue_id = q.queue_id and case
        when h.kind >= {priority.lowest} then exists (
          select from signalbox.ready r where r.queue_id = h.queue_id and r.priority = h.kind and r.ready_at >= f.at
        )
        when h.kind = {floor.lease} then exists (
          select from signalbox.lease l where l.queue_id = h.queue_id and l.deadline >= f.at and l.deadline <= v_now
        )
        when h.kind = {floor.scheduled} then exists (
          select from signalbox.scheduled s where s.queue_id = h.queue_id and s.due_at >= f.at and s.due_at <= v_now
        )
        when h.kind = {floor.lane_hint} then exists (
          select from signalbox.lane_hint n where n.queue_id = h.queue_id and n.due_at >= f.at and n.due_at <= v_now
        )
      end
    )
    -- The offset keeps the planner from reading all dead letters into a hash table while it believes them to be few.
    or q.is_dead_letter_queue and exists (select from signalbox.dead_letter d where d.queue_id = q.queue_id offset 0)
  );
end $$;
