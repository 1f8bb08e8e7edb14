-- Return a JSON value, or its text as a string when clients cannot read the value. For values that were stored before
-- such values were refused.
create or replace function signalbox._made_readable(p_value jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if signalbox._unreadable(p_value, p_value::text) is null then
    return p_value;
  end if;
  return case jsonb_typeof(p_value)
    when 'object' then jsonb_build_object('unreadable', p_value::text)
    else to_jsonb(p_value::text)
  end;
end $$;
