-- Raise SB409: the deduplication id was used with another body.
create or replace function signalbox._refuse_other_body(p_deduplication_id text, p_first_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB409',
    message = format('deduplication_id %s was sent with another body', quote_literal(p_deduplication_id)),
    detail = p_first_id::text,
    hint = 'The detail is the id of the first message. Use another deduplication id for another message.',
    column = 'deduplication_id';
end $$;
