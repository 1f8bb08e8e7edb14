-- hold_trash_batch(trash_batch_id, seconds): keep the messages of a trash batch for at least this many seconds from
-- now. Returns false when it has none left.
create or replace function signalbox.hold_trash_batch(trash_batch_id bigint, seconds double precision) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  update signalbox.trash_batch r
  set expires_at = greatest(r.expires_at, clock_timestamp() + hold_trash_batch.seconds * interval '1 second')
  where r.trash_batch_id = hold_trash_batch.trash_batch_id and r.trashed > r.restored + r.emptied;
  return found;
end $$;
