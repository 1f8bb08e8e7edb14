-- The transaction below which everything is archived; null when history need not wait for an archive. History waits for
-- an archive that has never worked while it tries, and for an hour after its last sign of life.
create or replace function signalbox._archived_below() returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select h.below from signalbox.archive_horizon h where h.holds or h.tried_at > now() - interval '1 hour'
$$;
