-- append_binary(stream, payload, content_type, ...): append one message whose payload is bytes, as send_binary sends
-- it. The other arguments are those of append.
create or replace function signalbox.append_binary(
  stream text,
  payload bytea,
  content_type text default 'application/octet-stream',
  attributes jsonb default null,
  key text default null,
  trace_id text default null
) returns table (partition integer, "position" bigint)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select a.partition, a.position
  from signalbox.append(
    append_binary.stream, signalbox._binary_payload(append_binary.payload),
    signalbox._binary_attributes(append_binary.content_type, append_binary.attributes), append_binary.key,
    append_binary.trace_id
  ) a
$$;
