-- Refuse a new name that is not valid.
create or replace function signalbox._check_new_name(p_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$' then
    perform signalbox._refuse(
      'new_name',
      format(
        '%s: a queue name has 1 to 90 letters, digits, dots, dashes and underscores, and starts with a letter'
        ' or digit', coalesce(quote_literal(left(p_name, 120)), 'null')
      )
    );
  end if;
end $$;
