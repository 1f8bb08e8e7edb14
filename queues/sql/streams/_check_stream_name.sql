-- Check the name of a new stream.
create or replace function signalbox._check_stream_name(p_field text, p_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$' then
    perform signalbox._refuse(
      p_field,
      format('%s: a name has 1 to 90 letters, digits, dots, dashes and underscores, and starts with a letter or digit',
        coalesce(quote_literal(left(p_name, 120)), 'null'))
    );
  end if;
end $$;
