-- The pointer to a large body as receive returns it; null for an ordinary message. Inlined by the planner.
create or replace function signalbox._body_of(p_sha256 bytea, p_bytes bigint) returns jsonb
language sql stable
begin atomic
  select case when p_sha256 is not null
    then jsonb_build_object('sha256', encode(p_sha256, 'hex'), 'bytes', p_bytes) end;
end;
