-- A row with the captured columns alone; null columns: all.
create or replace function signalbox._captured_columns(p_row jsonb, p_columns text[]) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_row is null or p_columns is null then p_row
    else coalesce((select jsonb_object_agg(c, p_row -> c) from unnest(p_columns) c), '{}')
  end
$$;
