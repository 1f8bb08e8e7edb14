select coalesce(array_agg(receipt_handle), '{}') as receipt_handles, array_agg(payload) as payloads
from signalbox.receive('fair', 10, durable => false) \gset
select count(*) from signalbox.ack(:receipt_handles::text[]) where acked;
