-- Send copies of the messages of one queue, which this transaction has sent, to the subscribers of the queue. Called
-- only for a queue with subscribers (flag.feeds_queues). A subscription holds its copies instead while it is paused,
-- while its target is closed or full, or while it holds earlier copies, to keep their order. Targets in the order of
-- their ids, so that two senders do not wait for each other in a circle. Indexes:
-- queue_subscription_source_queue_id_target_queue_id_key, message_pkey, held_copy_pkey.
create or replace function signalbox._send_to_subscribers(p_queue_id integer, p_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_edge record;
  v_copies signalbox.held_copy[];
begin
  for v_edge in
    select s.subscription_id, s.conditions, s.negated, s.delay_seconds, q.name as target,
      s.paused or exists (select from signalbox.held_copy h where h.subscription_id = s.subscription_id) as holds
    from signalbox.queue_subscription s
    join signalbox.queue q on q.queue_id = s.target_queue_id
    where s.source_queue_id = p_queue_id
    order by s.target_queue_id
  loop
    select array_agg(
      row(
        v_edge.subscription_id, 0, m.message_id, m.payload, m.attributes, m.group_id, m.trace_id, m.priority,
        m.body_sha256, clock_timestamp()
      )::signalbox.held_copy order by m.message_id
    )
    into v_copies
    from signalbox.message m
    where m.queue_id = p_queue_id and m.message_id = any(p_ids) and m.txid = pg_current_xact_id()
      and signalbox._selects(
        v_edge.conditions, v_edge.negated, m.payload, m.attributes, m.group_id, m.priority, m.trace_id
      );
    continue when v_copies is null;
    if v_edge.holds or not signalbox._send_copies(v_edge.target, v_copies, v_edge.delay_seconds) then
      insert into signalbox.held_copy (
        subscription_id, message_id, payload, attributes, group_id, trace_id, priority, body_sha256, held_at
      )
      select c.subscription_id, c.message_id, c.payload, c.attributes, c.group_id, c.trace_id, c.priority,
        c.body_sha256, c.held_at
      from unnest(v_copies) c;
    end if;
  end loop;
end $$;
