-- fleet_add(name, url, region): enter a cell in the directory, or change its address. Returns the directory's version.
-- In its home only.
create or replace function signalbox.fleet_add(name text, url text, region text default '') returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_version bigint := signalbox._next_version();
begin
  insert into signalbox.fleet_cell as c (name, url, region, version)
  values (fleet_add.name, fleet_add.url, fleet_add.region, v_version)
  on conflict (name) do update set url = excluded.url, region = excluded.region, version = excluded.version;
  return v_version;
end $$;
