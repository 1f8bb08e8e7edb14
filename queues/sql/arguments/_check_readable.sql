-- Refuse JSON that clients cannot read.
create or replace function signalbox._check_readable(p_field text, p_value jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text := signalbox._unreadable(p_value, p_value::text);
begin
  if v_problem is not null then
    perform signalbox._refuse(p_field, v_problem);
  end if;
end $$;
