select array_agg(message_id) as message_ids, array_agg(receipt_handle) as receipt_handles,
  array_agg(payload) as payloads
from signalbox.receive('bench', $batch, durable => $durable) \gset
select count(*) from signalbox.ack(:receipt_handles) where acked;
