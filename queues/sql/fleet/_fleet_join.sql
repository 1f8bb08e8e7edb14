-- Make this database a cell of a fleet, under this name. Its home is the cell in which the
-- directory is written. A database is in one fleet, and keeps its name.
create or replace function signalbox._fleet_join(cell text, home text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_known signalbox.fleet_directory;
begin
  insert into signalbox.fleet_directory (cell, home, version) values (_fleet_join.cell, _fleet_join.home, 0)
  on conflict do nothing;
  select * into v_known from signalbox.fleet_directory d for update;
  if v_known.cell <> _fleet_join.cell or v_known.home <> _fleet_join.home then
    perform signalbox._refuse(
      'url', format('leads to the cell %s of the fleet of %s', quote_literal(v_known.cell), quote_literal(v_known.home))
    );
  end if;
end $$;
