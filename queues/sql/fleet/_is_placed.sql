-- Return whether sends to this queue must be checked (_check_placement): whether another cell takes a partition of the
-- queue, or a partition is moving.
create or replace function signalbox._is_placed(p_queue text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
    select
    from signalbox.fleet_placement p, signalbox.fleet_directory d
    where p.queue = p_queue and (p.cell <> d.cell or p.state <> 'settled')
  );
end $$;
