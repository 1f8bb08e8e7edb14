-- Raise the refusal of a payload that is too large (SB413).
create or replace function signalbox._refuse_too_large(p_bytes bigint, p_limit bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB413',
    message = format('payload is %s bytes of JSON, above the limit of %s', p_bytes, p_limit),
    column = 'payload';
end $$;
