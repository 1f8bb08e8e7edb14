-- Raise SB404 for a stream that does not exist.
create or replace function signalbox._refuse_unknown_stream(p_stream text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB404',
    message = format('stream %s does not exist', coalesce(quote_literal(left(p_stream, 120)), 'null')),
    hint = 'Make it with signalbox.create_stream(name).',
    column = 'stream';
end $$;
