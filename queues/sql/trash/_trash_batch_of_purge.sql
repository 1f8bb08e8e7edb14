-- Return the trash batch of this role's current purge, or a new one. Runs with the owner's rights: purges are jobs,
-- which the role may not read.
create or replace function signalbox._trash_batch_of_purge(
  p_queue text, p_states text[], p_keep_seconds double precision
) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_trash_batch_id bigint;
begin
  select j.trash_batch_id into v_trash_batch_id
  from signalbox.purge j
  join signalbox.trash_batch r on r.trash_batch_id = j.trash_batch_id and r.keep_seconds = p_keep_seconds
    and r.restored = 0 and r.emptied = 0
  where j.queue_name = p_queue and j.created_by = left('sql:' || session_user, 150) and j.states = to_jsonb(p_states)
    and j.last_batch_at > clock_timestamp() - interval '5 minutes'
  order by j.purge_id desc
  limit 1
  for update of j, r skip locked; -- an undo that is under way has the trash batch
  return coalesce(v_trash_batch_id, signalbox.open_trash_batch(p_keep_seconds));
end $$;
revoke execute on function signalbox._trash_batch_of_purge(text, text[], double precision) from public;
