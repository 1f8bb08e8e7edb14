-- One row for each settled message of a window whose id lies in the stretch, with the body that was delivered: from the
-- log, or from message_kept, which has, for example, the messages that a redrive sent again. The stretch is read in the
-- order of the log's key and joined with the endings in the same order
-- (docs/decisions/0034-reading-bodies-for-the-archive.md).
select
  s.txid,
  s.queue_id,
  s.queue,
  s.tenant_id,
  s.tenant,
  u.message_id,
  s.outcome,
  s.settled_at,
  u.receive_count,
  u.work_ms,
  s.consumer,
  u.result::text as result,
  coalesce(m.payload, k.payload)::text as payload,
  coalesce(m.attributes, k.attributes)::text as attributes,
  coalesce(m.group_id, k.group_id) as group_id,
  coalesce(m.deduplication_id, k.deduplication_id) as deduplication_id,
  coalesce(m.trace_id, k.trace_id) as trace_id,
  coalesce(m.priority, k.priority) as priority,
  coalesce(m.sent_at, k.sent_at) as sent_at,
  coalesce(m.body_sha256, k.body_sha256) as body_sha256,
  coalesce(m.body_bytes, k.body_bytes) as body_bytes,
  case when k.message_id is not null then (
    select true from signalbox.redriven r where r.message_id = k.message_id and r.dead_letter_id > 0 limit 1
  ) end as redriven
from (
  select s.txid, s.queue_id, q.name as queue, q.tenant_id, t.name as tenant, s.settled_at, s.consumer,
    signalbox.outcome_name(s.outcome) as outcome,
    s.message_ids, s.receive_counts, s.work_ms, s.results
  from signalbox.settled s
  left join signalbox._known_queue q on q.queue_id = s.queue_id
  left join signalbox.tenant t on t.tenant_id = q.tenant_id
  where s.txid >= (select current_setting('pipeline.low')::bigint)
    and s.txid < (select current_setting('pipeline.high')::bigint)
  offset 0 -- names are joined once for an ack, not once for each of its messages
) s
cross join lateral unnest(
  s.message_ids, s.receive_counts, s.work_ms, s.results
) u(message_id, receive_count, work_ms, result)
left join signalbox.message m on m.queue_id = s.queue_id and m.message_id = u.message_id
  and m.message_id between current_setting('pipeline.first')::bigint and current_setting('pipeline.last')::bigint
left join signalbox.message_kept k on k.queue_id = s.queue_id and k.message_id = u.message_id
  and k.message_id between current_setting('pipeline.first')::bigint and current_setting('pipeline.last')::bigint
where u.message_id between (select current_setting('pipeline.first')::bigint)
  and (select current_setting('pipeline.last')::bigint)
