-- One row for each message that became a dead letter in a window, with its body at that time: the dead letter's body
-- while it is dead, else the log's, so that a message that was sent again or deleted before the archive run is here
-- too. Where a redrive rewrote the body since, it is the body before the first rewrite. The first window also takes the
-- dead letters whose failure is no longer in the history.
with death as (
  select f.txid, f.queue_id, f.message_id, f.receive_count, f.failed_at as died_at, f.reason, f.error_class, f.error,
    f.details,
    f.fingerprint, f.consumer, d.dead_letter_id, d.redrive_count, d.payload, d.attributes, d.group_id,
    d.deduplication_id,
    d.trace_id, d.priority, d.sent_at, d.body_sha256, d.body_bytes
  from signalbox.failure f
  left join signalbox.dead_letter d on d.message_id = f.message_id and d.died_at = f.failed_at
  where f.txid >= (select current_setting('pipeline.low')::bigint)
    and f.txid < (select current_setting('pipeline.high')::bigint) and f.retry_at is null
  union all
  select 0, d.source_queue_id, d.message_id, d.receive_count, d.died_at, d.reason, d.error_class, d.error, d.details,
    d.fingerprint, d.consumer, d.dead_letter_id, d.redrive_count, d.payload, d.attributes, d.group_id,
    d.deduplication_id,
    d.trace_id, d.priority, d.sent_at, d.body_sha256, d.body_bytes
  from signalbox.dead_letter d
  where (select current_setting('pipeline.low')::bigint) = 0
    and not exists (
      select from signalbox.failure f where f.message_id = d.message_id and f.failed_at = d.died_at
        and f.retry_at is null
    )
)
select
  e.txid,
  e.queue_id,
  q.name as queue,
  q.tenant_id,
  t.name as tenant,
  e.message_id,
  e.dead_letter_id,
  e.died_at,
  e.receive_count,
  e.reason,
  e.error_class,
  e.error,
  e.details,
  e.fingerprint,
  e.consumer,
  e.redrive_count,
  coalesce(e.payload, w.payload, b.payload)::text as payload,
  coalesce(e.attributes, b.attributes)::text as attributes,
  coalesce(e.group_id, b.group_id) as group_id,
  coalesce(e.deduplication_id, b.deduplication_id) as deduplication_id,
  coalesce(e.trace_id, b.trace_id) as trace_id,
  coalesce(e.priority, b.priority) as priority,
  coalesce(e.sent_at, b.sent_at) as sent_at,
  coalesce(e.body_sha256, b.body_sha256) as body_sha256,
  coalesce(e.body_bytes, b.body_bytes) as body_bytes
from death e
left join signalbox._known_queue q on q.queue_id = e.queue_id
left join signalbox.tenant t on t.tenant_id = q.tenant_id
left join lateral (
  select m.payload, m.attributes, m.group_id, m.deduplication_id, m.trace_id, m.priority, m.sent_at, m.body_sha256,
    m.body_bytes
  from signalbox.message m
  where e.dead_letter_id is null and m.queue_id = e.queue_id and m.message_id = e.message_id
  union all
  select k.payload, k.attributes, k.group_id, k.deduplication_id, k.trace_id, k.priority, k.sent_at, k.body_sha256,
    k.body_bytes
  from signalbox.message_kept k
  where e.dead_letter_id is null and k.queue_id = e.queue_id and k.message_id = e.message_id
  limit 1
) b on true
left join lateral (
  select w.payload
  from signalbox.rewritten w
  where e.dead_letter_id is null and w.message_id = e.message_id and w.rewritten_at >= e.died_at
  order by w.rewritten_at
  limit 1
) w on true
