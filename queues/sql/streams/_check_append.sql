-- Check the arguments of append; each refusal names the argument.
create or replace function signalbox._check_append(
  p_stream text, p_closed boolean, p_max_payload_bytes integer, p_payload jsonb, p_attributes jsonb, p_key text,
  p_trace_id text
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_closed then
    raise exception using
      errcode = 'SB423',
      message = format('stream %s is closed: it accepts no messages', quote_literal(p_stream)),
      column = 'stream';
  end if;
  if p_payload is null or octet_length(p_payload::text) > least(p_max_payload_bytes, 256) then
    perform signalbox._check_payload(p_payload, p_max_payload_bytes, p_payload::text);
  end if;
  if p_attributes is not null or p_trace_id is not null then
    perform signalbox._check_options(p_attributes, 0, 0, null, null, p_trace_id);
    if p_attributes ? 'binary_content_type' then
      perform signalbox._check_binary(p_payload, p_attributes, p_payload = 'null'); -- a large body, or a tombstone
    end if;
  end if;
  if length(p_key) not between 1 and 200 then
    perform signalbox._refuse('key', 'must have from 1 to 200 characters');
  end if;
end $$;
