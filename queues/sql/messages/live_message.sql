-- Messages that are ready, scheduled, waiting for their message group, or in flight, with their bodies. `since` is when
-- they became ready, are due, began to wait or were leased. Read the view by queue: it is a union of the tables that a
-- message moves through, and has no order. Reading leases nothing. Columns of the body that a query does not name cost
-- nothing, from PostgreSQL 16 on.
create or replace view signalbox.live_message as
  select t.queue_id, t.message_id, t.state, t.priority, t.receive_count, t.since,
    t.deadline, t.consumer,
    coalesce(m.payload, k.payload) as payload,
    coalesce(m.attributes, k.attributes) as attributes,
    coalesce(m.group_id, k.group_id) as group_id,
    coalesce(m.deduplication_id, k.deduplication_id) as deduplication_id,
    coalesce(m.trace_id, k.trace_id) as trace_id,
    coalesce(m.sent_at, k.sent_at) as sent_at,
    coalesce(m.body_sha256, k.body_sha256) as body_sha256,
    coalesce(m.body_bytes, k.body_bytes) as body_bytes
  from (
    select r.queue_id, r.message_id, 'ready' as state, r.priority, r.receive_count, r.ready_at as since,
      null::timestamptz as deadline, null::text as consumer
    from signalbox.ready r
    union all
    select s.queue_id, s.message_id, 'scheduled', s.priority, s.receive_count, s.due_at, null, null
    from signalbox.scheduled s
    union all
    select w.queue_id, w.message_id, 'waiting', w.priority, w.receive_count, w.waiting_since, null, null
    from signalbox.waiting w
    union all
    select l.queue_id, l.message_id, 'leased', l.priority, l.receive_count, l.leased_at, l.deadline, l.consumer
    from signalbox.lease l
  ) t
  left join signalbox.message m on m.queue_id = t.queue_id and m.message_id = t.message_id
  left join signalbox.message_kept k on k.queue_id = t.queue_id and k.message_id = t.message_id;
