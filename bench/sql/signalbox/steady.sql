select signalbox.send('$queue', '$payload');
select message_id, receipt_handle, payload from signalbox.receive('$queue', 1, durable => $durable) \gset
select acked from signalbox.ack(array[:receipt_handle]);
