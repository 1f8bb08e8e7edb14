-- The system identifier of this server, or 0 where a provider does not allow the question: there the ids alone decide.
create or replace function signalbox._system_identifier() returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    return (select s.system_identifier from pg_control_system() s);
  end if;
  return 0;
end $$;
