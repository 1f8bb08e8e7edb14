-- The JSON string of bytes in base64, without the line ends that PostgreSQL writes.
create or replace function signalbox._binary_payload(p_payload bytea) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select to_jsonb(translate(encode(p_payload, 'base64'), e'\n', ''))
$$;
