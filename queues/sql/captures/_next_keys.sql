-- The keys of the next rows of a table, in their order, as JSON objects. Index: that of the key.
create or replace function signalbox._next_keys(p_table regclass, p_key text[], p_after jsonb, p_limit integer)
returns jsonb[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_columns text := (select string_agg(format('t.%I', k), ', ') from unnest(p_key) k);
  v_after text := (select string_agg(format('a.%I', k), ', ') from unnest(p_key) k);
  v_object text := (select string_agg(format('%L, t.%I', k, k), ', ') from unnest(p_key) k);
  v_keys jsonb[];
begin
  execute format(
    'select array(select jsonb_build_object(%s) from %s t%s order by %s limit %s)', v_object, p_table,
    case when p_after is not null then format(
      ', jsonb_populate_record(null::%s, $1) a where (%s) > (%s)', p_table, v_columns, v_after
    ) end, v_columns, p_limit
  )
  into v_keys
  using p_after;
  return v_keys;
end $$;
