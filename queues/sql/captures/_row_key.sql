-- The key of a row: a JSON object of its key columns.
create or replace function signalbox._row_key(p_row jsonb, p_key text[]) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_object_agg(k, p_row -> k) from unnest(p_key) k
$$;
