-- Permanently delete waiting messages by their ids, as a purge does. Returns those that were deleted. A message that a
-- consumer claims at this moment is skipped. Ready messages have no index by id: they are looked up by the time at
-- which they were sent, within a second. Only for messages that became ready later, after a delay, a failure or a
-- redrive, all ready messages of their queues are read. Index: ready_claim.
create or replace function signalbox._purge_messages(p_ids bigint[]) returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone record;
  v_purged bigint[] := '{}';
begin
  for v_gone in
    with logged as materialized (
      select g.id, b.queue_id, b.sent_at
      from unnest(p_ids) g(id)
      cross join lateral signalbox._log_of(g.id) b
      where not exists (select from signalbox.scheduled s where s.message_id = g.id)
        and not exists (select from signalbox.waiting w where w.message_id = g.id)
    ), ranked as materialized ( -- a step of its own, or the planner may read all tickets of a priority
      select l.id, l.queue_id, l.sent_at, h.kind as priority
      from logged l
      join signalbox.claim_floor h on h.queue_id = l.queue_id and h.kind >= {priority.lowest}
    ), as_sent as materialized (
      select c.queue_id, c.message_id, c.ctid
      from ranked k
      join signalbox.ready c on c.queue_id = k.queue_id and c.priority = k.priority
        and c.ready_at >= k.sent_at - interval '1 second' and c.ready_at <= k.sent_at + interval '1 second'
        and c.message_id = k.id
      for update of c skip locked
    ), later as materialized (
      select l.id, l.queue_id from logged l where not exists (select from as_sent a where a.message_id = l.id)
    ), came_later as materialized (
      select c.queue_id, c.ctid
      from signalbox.ready c
      where c.queue_id = any(array(select distinct l.queue_id from later l))
        and c.message_id = any(array(select l.id from later l))
      for update skip locked
    ), scheduled as materialized (
      select c.queue_id, c.ctid from signalbox.scheduled c where c.message_id = any(p_ids) for update skip locked
    ), waiting as materialized (
      select c.queue_id, c.ctid from signalbox.waiting c where c.message_id = any(p_ids) for update skip locked
    ), picked as (
      select a.queue_id, 'ready' as state, {event.purged_ready} as event, a.ctid from as_sent a
      union all
      select c.queue_id, 'ready', {event.purged_ready}, c.ctid from came_later c
      union all
      select s.queue_id, 'scheduled', {event.purged_scheduled}, s.ctid from scheduled s
      union all
      select w.queue_id, 'waiting', {event.purged_waiting}, w.ctid from waiting w
    )
    select p.queue_id, p.state, p.event, array_agg(p.ctid) as tids from picked p group by p.queue_id, p.state, p.event
  loop
    v_purged := v_purged || signalbox._remove(
      v_gone.queue_id, v_gone.state, v_gone.event, {outcome.purged}, v_gone.tids
    );
  end loop;
  return v_purged;
end $$;
