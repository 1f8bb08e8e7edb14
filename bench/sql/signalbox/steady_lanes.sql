\set lane random(1, 100)
select signalbox.send('$queue', '$payload', group_id => 'lane ' || :lane);
select coalesce(array_agg(receipt_handle), '{}') as receipt_handles, array_agg(payload) as payloads
from signalbox.receive('$queue', 1, durable => $durable) \gset
select count(*) from signalbox.ack(:receipt_handles::text[]) where acked;
