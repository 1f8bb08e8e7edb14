-- Return an array argument with indexes from 1; refuse one of several dimensions by the name of the argument. The hot
-- verbs check inline whether they need this.
create or replace function signalbox._as_list(p_field text, p_array anyarray) returns anyarray
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if array_ndims(p_array) > 1 then
    perform signalbox._refuse(p_field, format('has %s dimensions: it must be a list, with one', array_ndims(p_array)));
  end if;
  return case when array_lower(p_array, 1) <> 1 then p_array[:] else p_array end;
end $$;
