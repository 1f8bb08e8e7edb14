-- The hash of a send, by which the same deduplication id with another body is noticed. Trace context and correlation id
-- do not count: a send that is tried again belongs to another span of its sender. Inlined by the planner.
create or replace function signalbox._request_hash(
  p_payload jsonb, p_attributes jsonb, p_priority int, p_group_id text, p_body_sha256 bytea default null
) returns bytea
language sql immutable
begin atomic
  select sha256(convert_to(
    jsonb_build_array(p_payload, case
      when p_attributes ?| array['traceparent', 'tracestate', 'correlation_id']
      then nullif(p_attributes - array['traceparent', 'tracestate', 'correlation_id'], '{}')
      else p_attributes
    end, p_priority, p_group_id)::text || coalesce(encode(p_body_sha256, 'hex'), ''), 'UTF8'
  ));
end;
