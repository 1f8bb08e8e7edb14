-- payload_bytes(payload, attributes): the bytes of a binary payload, as receive and read_stream return it; null for a
-- JSON payload.
create or replace function signalbox.payload_bytes(payload jsonb, attributes jsonb) returns bytea
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when payload_bytes.attributes ? 'binary_content_type' and jsonb_typeof(payload_bytes.payload) = 'string'
    and length(payload_bytes.payload #>> '{}') % 4 = 0
    and payload_bytes.payload #>> '{}' ~ '^[A-Za-z0-9+/]*={0,2}$'
    then decode(payload_bytes.payload #>> '{}', 'base64') end
$$;
