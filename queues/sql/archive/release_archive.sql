-- release_archive(): stop history from waiting for the archive. The horizon stays, but history that is dropped before
-- the next run is in no archive. Returns whether history was waiting.
create or replace function signalbox.release_archive() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update signalbox.archive_horizon h set holds = false, tried_at = null where h.holds or h.tried_at is not null;
  return found;
end $$;
