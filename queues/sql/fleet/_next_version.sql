-- Raise the version of the directory and return it. Only the directory's home may write it; one writer at a time.
create or replace function signalbox._next_version() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_home text;
  v_version bigint;
begin
  update signalbox.fleet_directory d
  set version = d.version + 1, copied_at = clock_timestamp()
  where d.cell = d.home
  returning d.version into v_version;
  if not found then
    select d.home into v_home from signalbox.fleet_directory d;
    perform signalbox._refuse(
      'fleet', coalesce(format('is written in its home, the cell %s', quote_literal(v_home)), 'has no cell yet')
    );
  end if;
  return v_version;
end $$;
