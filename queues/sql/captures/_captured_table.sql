-- The table of a capture by its name, or the refusal of what cannot be captured.
create or replace function signalbox._captured_table(p_name text) returns regclass
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id regclass;
  v_table record;
begin
  begin
    v_id := to_regclass(p_name);
  exception
    when syntax_error or invalid_name or feature_not_supported then
      v_id := null;
  end;
  if v_id is null then
    perform signalbox._refuse(
      'table_name',
      format('is %s: there is no such table; a name has its schema, as in public.orders',
        coalesce(quote_literal(left(p_name, 120)), 'null'))
    );
  end if;
  select c.relkind, c.relispartition, c.relpersistence, c.relnamespace::regnamespace::text as schema
  into v_table
  from pg_class c
  where c.oid = v_id;
  perform signalbox._refuse('table_name', format('is %s: %s', quote_literal(p_name), o.problem))
  from (values
    (v_table.relkind not in ('r', 'p'), 'only a table can be captured, no view, index or foreign table'),
    (v_table.relispartition, 'capture the table that it is a partition of'),
    (v_table.relpersistence <> 'p', 'a temporary or unlogged table cannot be captured'),
    (v_table.schema in ('signalbox', 'pg_catalog', 'information_schema'), 'a table of the system cannot be captured')
  ) o(found, problem)
  where o.found;
  return v_id;
end $$;
