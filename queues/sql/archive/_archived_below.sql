-- The transaction below which everything is archived; null when history need not wait for an archive. Before the first
-- successful archive run, history waits only until one hour after the last attempt.
create or replace function signalbox._archived_below() returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select h.below from signalbox.archive_horizon h where h.holds or h.tried_at > now() - interval '1 hour'
$$;
