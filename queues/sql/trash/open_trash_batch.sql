-- open_trash_batch(keep_seconds): begin a trash batch, to which purge and delete_dead_letters move messages. They stay
-- in the trash for keep_seconds after the last one came; restore puts them back, empty_trash deletes them. Returns its
-- number.
create or replace function signalbox.open_trash_batch(keep_seconds double precision) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trash_batch_id bigint;
begin
  if open_trash_batch.keep_seconds is null or open_trash_batch.keep_seconds <= 0
    or open_trash_batch.keep_seconds > 31536000 then
    perform signalbox._refuse('keep_seconds', format(
      'is %s: it must be above 0 and up to 31536000 (a year)', coalesce(open_trash_batch.keep_seconds::text, 'null')
    ));
  end if;
  insert into signalbox.trash_batch (keep_seconds, expires_at)
  values (open_trash_batch.keep_seconds, clock_timestamp() + open_trash_batch.keep_seconds * interval '1 second')
  returning trash_batch_id into v_trash_batch_id;
  return v_trash_batch_id;
end $$;
