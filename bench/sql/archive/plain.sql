-- A plain export: all completed messages, each with its body.
select
  s.txid,
  s.queue_id,
  q.name as queue,
  q.tenant_id,
  t.name as tenant,
  u.message_id,
  s.outcome::text as outcome,
  s.settled_at,
  u.receive_count,
  u.work_ms,
  s.consumer,
  u.result::text as result,
  m.payload::text as payload,
  m.attributes::text as attributes,
  m.group_id,
  m.deduplication_id,
  m.trace_id,
  m.priority,
  m.sent_at,
  m.body_sha256,
  m.body_bytes
from signalbox.settled s
cross join lateral unnest(
  s.message_ids, s.receive_counts, s.work_ms, s.results
) u(message_id, receive_count, work_ms, result)
join signalbox.queue q on q.queue_id = s.queue_id
join signalbox.tenant t on t.tenant_id = q.tenant_id
left join signalbox.message m on m.queue_id = s.queue_id and m.message_id = u.message_id
