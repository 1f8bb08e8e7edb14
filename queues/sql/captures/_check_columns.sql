-- Refuse columns that a table does not have.
create or replace function signalbox._check_columns(p_table regclass, p_columns text[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse(
    'columns', format('has %s, which is not a column of %s', coalesce(quote_literal(left(c, 120)), 'null'),
      quote_literal(p_table::text))
  )
  from unnest(p_columns) c
  where not exists (
    select from pg_attribute a
    where a.attrelid = p_table and a.attname = c and a.attnum > 0 and not a.attisdropped
  );
end $$;
