select message_id, nonce, payload from bare.receive('bench', 1, $durable) \gset
select bare.ack(array[:message_id::bigint], array[:nonce::integer]);
