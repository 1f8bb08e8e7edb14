-- Add to the number of messages in a trash batch; all of them then stay for its whole time from now on.
create or replace function signalbox._count_trashed(p_trash_batch_id bigint, p_messages bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  update signalbox.trash_batch r
  set trashed = r.trashed + p_messages, expires_at = clock_timestamp() + r.keep_seconds * interval '1 second'
  where r.trash_batch_id = p_trash_batch_id
$$;
