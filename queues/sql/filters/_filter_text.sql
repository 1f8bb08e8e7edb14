-- Text of a filter, with or without its quotes, as a JSON string.
create or replace function signalbox._filter_text(p_text text) returns json
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_text like '"%' then (p_text::json) else to_json(p_text) end
$$;
