-- hold_for_archive(): history waits for the archive: what ended or failed is dropped only below its horizon. Where it did not wait
-- before, it does for an hour from the last call, and for good once the horizon has moved (move_archive_horizon).
-- Returns the window that is due: from the horizon on (inclusive) up to the oldest transaction that is still under way
-- (exclusive), below which nothing can be written any more, whoever commits in whatever order.
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
