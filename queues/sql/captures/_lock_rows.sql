-- Rows of a table by their keys, locked against changes until the commit. Rows that are gone are left out, and with
-- p_skip also rows that a writer holds. Index: that of the key.
create or replace function signalbox._lock_rows(p_table regclass, p_key text[], p_keys jsonb[], p_skip boolean)
returns jsonb[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_condition text := (select string_agg(format('t.%I = k.%I', c, c), ' and ') from unnest(p_key) c);
  v_rows jsonb[];
begin
  execute format(
    'select array(select to_jsonb(t) from unnest($1) g, jsonb_populate_record(null::%s, g) k, %s t where %s'
    ' for share of t %s)',
    p_table, p_table, v_condition, case when p_skip then 'skip locked' end
  )
  into v_rows
  using p_keys;
  return v_rows;
end $$;
