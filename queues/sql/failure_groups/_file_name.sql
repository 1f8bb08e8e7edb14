-- The last part of a path.
create or replace function signalbox._file_name(p_path text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return regexp_replace(p_path, '^.*[/\\]', '');
end $$;
