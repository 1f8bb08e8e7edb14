-- The columns of a table with their types, as text: it differs when the table was altered.
create or replace function signalbox._table_signature(p_table oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' order by a.attnum)
  from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped
$$;
