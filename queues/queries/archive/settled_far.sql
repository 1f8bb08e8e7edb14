-- The settled messages of a window whose ids lie outside the stretch, each body looked up by its key: messages that
-- were sent long before the others, or all messages where they do not end roughly in the order of sending.
select
  s.txid,
  s.queue_id,
  q.name as queue,
  q.tenant_id,
  t.name as tenant,
  u.message_id,
  signalbox.outcome_name(s.outcome) as outcome,
  s.settled_at,
  u.receive_count,
  u.work_ms,
  s.consumer,
  u.result::text as result,
  b.payload::text as payload,
  b.attributes::text as attributes,
  b.group_id,
  b.deduplication_id,
  b.trace_id,
  b.priority,
  b.sent_at,
  b.body_sha256,
  b.body_bytes,
  (select true from signalbox.redriven r where r.message_id = u.message_id and r.dead_letter_id > 0 limit 1) as redriven
from signalbox.settled s
cross join lateral unnest(
  s.message_ids, s.receive_counts, s.work_ms, s.results
) u(message_id, receive_count, work_ms, result)
left join signalbox._known_queue q on q.queue_id = s.queue_id
left join signalbox.tenant t on t.tenant_id = q.tenant_id
left join lateral (
  select m.payload, m.attributes, m.group_id, m.deduplication_id, m.trace_id, m.priority, m.sent_at, m.body_sha256,
    m.body_bytes
  from signalbox.message m
  where m.queue_id = s.queue_id and m.message_id = u.message_id
  union all
  select k.payload, k.attributes, k.group_id, k.deduplication_id, k.trace_id, k.priority, k.sent_at, k.body_sha256,
    k.body_bytes
  from signalbox.message_kept k
  where k.queue_id = s.queue_id and k.message_id = u.message_id
  limit 1
) b on true
where s.txid >= (select current_setting('pipeline.low')::bigint)
  and s.txid < (select current_setting('pipeline.high')::bigint)
  and u.message_id not between (select current_setting('pipeline.first')::bigint)
    and (select current_setting('pipeline.last')::bigint)
