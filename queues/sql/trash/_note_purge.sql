-- Note the end of a step of a purge: returns its number if the step began the purge, otherwise null. A trash batch
-- without messages is deleted.
create or replace function signalbox._note_purge(
  p_trash_batch_id bigint, p_queue text, p_states text[], p_through_message_id bigint, p_purged bigint
) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_purge_id bigint;
begin
  update signalbox.purge j
  set purged = j.purged + p_purged, total_estimate = j.total_estimate + p_purged, last_batch_at = clock_timestamp(),
    finished_at = clock_timestamp(), through_message_id = greatest(j.through_message_id, p_through_message_id)
  where j.trash_batch_id = p_trash_batch_id and j.queue_name = p_queue
    and j.created_by = left('sql:' || session_user, 150) and p_purged > 0;
  if found then
    return null;
  end if;
  if p_purged = 0 then
    delete from signalbox.trash_batch r
    where r.trash_batch_id = p_trash_batch_id and r.trashed = 0
      and not exists (
        select from signalbox.purge j where j.queue_name = p_queue and j.trash_batch_id = p_trash_batch_id
      );
    return null;
  end if;
  insert into signalbox.purge (
    state, created_by, reason, started_at, last_batch_at, finished_at, total_estimate, total_is_exact, queue_name,
    states,
    through_message_id, through_dead_letter_id, purged, trash_batch_id, trash_hours
  )
  select 'done', left('sql:' || session_user, 150),
    'by ' || coalesce(nullif(current_setting('application_name', true), ''), 'a client'),
    clock_timestamp(), clock_timestamp(), clock_timestamp(), p_purged, true, p_queue, to_jsonb(p_states),
    p_through_message_id,
    coalesce(pg_sequence_last_value('signalbox.dead_letter_id'::regclass), 0), p_purged, r.trash_batch_id,
    ceil(r.keep_seconds / 3600)
  from signalbox.trash_batch r
  where r.trash_batch_id = p_trash_batch_id
  returning purge_id into v_purge_id;
  return v_purge_id;
end $$;
revoke execute on function signalbox._note_purge(bigint, text, text[], bigint, bigint) from public;
