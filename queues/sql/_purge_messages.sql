-- Messages that wait, by their ids, removed as a purge does, for good; returns those that were. One that a consumer claims at this moment
-- is left to it. Tickets that are ready have no index of messages: they are looked for where they came as they were sent, within a second, and only
-- for those that came later, after a delay, a failure or a redrive, all tickets of their queues are read. Index: ready_claim.
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
    ), ranked as materialized ( -- apart, so that no statistics make all tickets of a head the way to those of a moment
      select l.id, l.queue_id, l.sent_at, h.kind as priority
      from logged l
      join signalbox.head h on h.queue_id = l.queue_id and h.kind between 0 and 9
    ), as_sent as materialized (
      select c.ctid, c.message_id
      from ranked k
      join signalbox.ready c on c.queue_id = k.queue_id and c.priority = k.priority
        and c.ready_at >= k.sent_at - interval '1 second' and c.ready_at <= k.sent_at + interval '1 second'
        and c.message_id = k.id
      for update of c skip locked
    ), later as materialized (
      select l.id, l.queue_id from logged l where not exists (select from as_sent a where a.message_id = l.id)
    ), came_later as materialized (
      select c.ctid
      from signalbox.ready c
      where c.queue_id = any(array(select distinct l.queue_id from later l)) and c.message_id = any(array(select l.id from later l))
      for update skip locked
    ), ready_gone as (
      delete from signalbox.ready r
      where r.ctid = any(array(select a.ctid from as_sent a union all select c.ctid from came_later c))
      returning r.queue_id, r.message_id, r.receive_count, null::text as lane, 15::smallint as event
    ), scheduled_gone as (
      delete from signalbox.scheduled s
      where s.ctid = any(array(select c.ctid from signalbox.scheduled c where c.message_id = any(p_ids) for update skip locked))
      returning s.queue_id, s.message_id, s.receive_count, null::text, 16::smallint
    ), waiting_gone as (
      delete from signalbox.waiting w
      where w.ctid = any(array(select c.ctid from signalbox.waiting c where c.message_id = any(p_ids) for update skip locked))
      returning w.queue_id, w.message_id, w.receive_count, w.lane, 34::smallint
    ), gone as (
      select * from ready_gone union all select * from scheduled_gone union all select * from waiting_gone
    )
    select g.queue_id, g.event, array_agg(g.message_id order by g.message_id) as ids,
      array_agg(g.receive_count order by g.message_id) as counts, array_agg(g.lane order by g.message_id) as lanes
    from gone g
    group by g.queue_id, g.event
  loop
    if v_gone.event = 34 then
      perform signalbox._settle_waiting(v_gone.queue_id, 'p', v_gone.event, v_gone.ids, v_gone.counts, v_gone.lanes);
    else
      perform signalbox._settle(v_gone.queue_id, 'p', v_gone.event, v_gone.ids, v_gone.counts);
    end if;
    v_purged := v_purged || v_gone.ids;
  end loop;
  return v_purged;
end $$;
