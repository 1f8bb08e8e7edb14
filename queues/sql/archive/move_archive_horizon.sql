-- move_archive_horizon(low, high): record that everything below transaction `high` is archived. Call it in the
-- transaction that records the archived files. Returns false and moves nothing when the horizon is not at `low`:
-- another run has moved it, or the database was restored.
create or replace function signalbox.move_archive_horizon(low bigint, high bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if move_archive_horizon.high < move_archive_horizon.low then
    perform signalbox._refuse('high', format('is %s: it must not be below low', move_archive_horizon.high));
  end if;
  update signalbox.archive_horizon h
  set below = move_archive_horizon.high, moved_at = clock_timestamp(), holds = true, tried_at = null
  where h.below = move_archive_horizon.low;
  return found;
end $$;
