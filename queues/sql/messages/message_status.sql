-- The status of every message: pending, processing, completed, failed (waiting for its retry) or dead. Read the view by
-- queue or by message id: it is a union of the tables that a message moves through, and has no order.
create or replace view signalbox.message_status as
  select r.queue_id, r.message_id, 'pending' as status, r.receive_count as attempts, r.ready_at as since,
    null::text as last_error
  from signalbox.ready r
  union all
  select s.queue_id, s.message_id, case
    when s.receive_count = 0 then 'pending'
    when s.receive_count = (select c.deferrals from signalbox.message_state c where c.message_id = s.message_id)
      then 'pending'
    else 'failed'
  end, s.receive_count, s.due_at,
    (select f.error from signalbox.failure f where f.message_id = s.message_id order by f.failed_at desc limit 1)
  from signalbox.scheduled s
  union all
  select w.queue_id, w.message_id, case
    when w.receive_count = 0 then 'pending'
    when w.receive_count = (select c.deferrals from signalbox.message_state c where c.message_id = w.message_id)
      then 'pending'
    else 'failed'
  end, w.receive_count, w.waiting_since,
    (select f.error from signalbox.failure f where f.message_id = w.message_id order by f.failed_at desc limit 1)
  from signalbox.waiting w
  union all
  select l.queue_id, l.message_id, 'processing', l.receive_count, l.leased_at, null
  from signalbox.lease l
  union all
  select d.source_queue_id, d.message_id, 'dead', d.receive_count, d.died_at, d.error
  from signalbox.dead_letter d
  union all
  select s.queue_id, m.message_id, 'completed', m.receive_count, s.settled_at, null
  from signalbox.settled s, unnest(s.message_ids, s.receive_counts) m(message_id, receive_count)
  where s.outcome = {outcome.acked};
