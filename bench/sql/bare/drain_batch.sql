select array_agg(message_id) as message_ids, array_agg(nonce) as nonces, array_agg(payload) as payloads
from bare.receive('bench', $batch, $durable) \gset
select bare.ack(:message_ids::bigint[], :nonces::integer[]);
