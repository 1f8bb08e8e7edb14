-- Whether a payload is larger than a queue's limit, or than the log's. For a string the bytes of its text count,
-- without the quotes and escapes of JSON. No locks, no tables.
create or replace function signalbox._is_too_large(p_payload jsonb, p_text text, p_limit bigint) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select octet_length(p_text) > p_limit and (
    octet_length(p_text) > 262144 or jsonb_typeof(p_payload) <> 'string' or octet_length(p_payload #>> '{}') > p_limit
  )
$$;
