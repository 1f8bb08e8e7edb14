-- send_binary(queue, payload, content_type, ...): send one message whose payload is bytes. The bytes are stored as a
-- JSON string in base64, so every table that keeps a payload can keep them. The attribute binary_content_type marks
-- such a payload, and payload_bytes returns its bytes. The other arguments are those of send.
create or replace function signalbox.send_binary(
  queue text,
  payload bytea,
  content_type text default 'application/octet-stream',
  attributes jsonb default null,
  priority int default 0,
  delay_seconds double precision default null,
  group_id text default null,
  deduplication_id text default null,
  trace_id text default null
) returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select signalbox.send(
    send_binary.queue, signalbox._binary_payload(send_binary.payload),
    signalbox._binary_attributes(send_binary.content_type, send_binary.attributes), send_binary.priority,
    send_binary.delay_seconds, send_binary.group_id, send_binary.deduplication_id, send_binary.trace_id
  )
$$;
