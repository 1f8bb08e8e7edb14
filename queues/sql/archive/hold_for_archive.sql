-- hold_for_archive(): make history wait for the archive, and return the window to archive next. Messages that ended or
-- failed are then dropped only below the archive's horizon. Without a horizon, history waits for one hour after the
-- last call; after the first move_archive_horizon it waits permanently.
-- The window starts at the horizon (inclusive) and ends before the oldest open transaction (exclusive): no transaction
-- can still write below it.
create or replace function signalbox.hold_for_archive(out low bigint, out high bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.archive_horizon as h (below, moved_at, holds, tried_at)
  values (0, clock_timestamp(), false, clock_timestamp())
  on conflict (only_row) do update set tried_at = case when not h.holds then clock_timestamp() end
  returning h.below into low;
  high := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  if high < low then
    raise exception using
      errcode = 'object_not_in_prerequisite_state',
      message = 'the archive is ahead of this database, which was restored from elsewhere',
      hint = 'It goes on when upkeep has noticed: run manage.py upkeep.';
  end if;
end $$;
