-- release_archive(): history no longer waits for the archive. The horizon stays where it is: what is dropped from now on,
-- before another run comes, is in no archive. Returns whether it was waiting.
create or replace function signalbox.release_archive() returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update signalbox.archive_horizon h set holds = false, tried_at = null where h.holds or h.tried_at is not null;
  return found;
end $$;
