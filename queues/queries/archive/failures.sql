-- One row for each failed delivery of a window.
select
  f.txid,
  f.failure_id,
  f.queue_id,
  q.name as queue,
  q.tenant_id,
  t.name as tenant,
  f.message_id,
  f.receive_count,
  f.leased_at,
  f.failed_at,
  f.retry_at,
  f.retry_at is null as died,
  f.reason,
  f.error_class,
  f.error,
  f.details,
  f.fingerprint,
  f.consumer
from signalbox.failure f
left join signalbox._known_queue q on q.queue_id = f.queue_id
left join signalbox.tenant t on t.tenant_id = q.tenant_id
where f.txid >= (select current_setting('pipeline.low')::bigint)
  and f.txid < (select current_setting('pipeline.high')::bigint)
