-- Raise a refusal of an argument or setting: SB400, with its name as the error's column.
create or replace function signalbox._refuse(p_field text, p_problem text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB400',
    message = format('%s %s', p_field, p_problem),
    column = p_field;
end $$;
