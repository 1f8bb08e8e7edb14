-- receivable_queues(queues): which of these queues have something to give, as far as a look at the heads of their indexes tells:
-- what is ready, due or expired, a lane with news, a dead letter in a queue of these. One statement for all who wait for news,
-- instead of a receive for each of them once a second; what is ready may yet be in other hands, or held back by a limit.
-- Indexes, from their floors: ready_claim, lease_deadline, scheduled_due, lane_hint_due, dead_letter_queue.
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
  v_now timestamptz := clock_timestamp(); -- as a value: an index condition, where the volatile function is a filter
begin
  return query
  select g.name
  from unnest(receivable_queues.queues) g(name)
  join signalbox.queue q on q.queue_id = coalesce(
    (select n.queue_id from signalbox.queue n where n.name = g.name),
    (select a.queue_id from signalbox.queue_alias a where a.name = g.name and a.works_until > v_now)
  )
  where not q.paused and q.guards & 8 = 0 and (
    exists (
      select
      from signalbox.head h, lateral (select signalbox.floor_time(h.floor) as at) f
      where h.queue_id = q.queue_id and case
        when h.kind < 10 then exists (
          select from signalbox.ready r where r.queue_id = h.queue_id and r.priority = h.kind and r.ready_at >= f.at
        )
        when h.kind = 10 then exists (
          select from signalbox.lease l where l.queue_id = h.queue_id and l.deadline >= f.at and l.deadline <= v_now
        )
        when h.kind = 11 then exists (
          select from signalbox.scheduled s where s.queue_id = h.queue_id and s.due_at >= f.at and s.due_at <= v_now
        )
        when h.kind = 12 then exists (
          select from signalbox.lane_hint n where n.queue_id = h.queue_id and n.due_at >= f.at and n.due_at <= v_now
        )
      end
    )
    or q.is_dead_letter_queue and exists (select from signalbox.dead_letter d where d.queue_id = q.queue_id)
  );
end $$;
