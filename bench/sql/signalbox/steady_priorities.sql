\set priority random(0, 2)
select signalbox.send('$queue', '$payload', priority => :priority);
select coalesce(array_agg(receipt_handle), '{}') as receipt_handles, array_agg(payload) as payloads
from signalbox.receive('$queue', 1, durable => $durable) \gset
select count(*) from signalbox.ack(:receipt_handles::text[]) where acked;
