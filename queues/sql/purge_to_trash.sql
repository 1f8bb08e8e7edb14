-- purge_to_trash(queue, through_message_id, states, max_messages, keep_seconds): what the client's purge calls: as purge, into the trash, from
-- where the console, `restore` and an undo put it back for so long; with 0 seconds they go for good. Returns how many were removed: call it with the same bound until it
-- answers 0. Calls of one role for one queue and the same states that follow each other within five minutes are one purge: it is
-- listed among the purges, and has one row of the audit. Indexes: those of purge, purge_queue.
create or replace function signalbox.purge_to_trash(
  queue text,
  through_message_id bigint default null,
  states text[] default '{ready,scheduled,waiting}',
  max_messages int default 10000,
  keep_seconds double precision default 86400
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bound bigint := coalesce(purge_to_trash.through_message_id, pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_removal_id bigint;
  v_purged bigint;
  v_purge_id bigint;
begin
  if purge_to_trash.keep_seconds = 0 then
    return signalbox.purge(purge_to_trash.queue, v_bound, purge_to_trash.states, purge_to_trash.max_messages);
  end if;
  v_removal_id := signalbox._removal_of_purge(purge_to_trash.queue, purge_to_trash.states, purge_to_trash.keep_seconds);
  v_purged := signalbox._purge(
    purge_to_trash.queue, v_bound, purge_to_trash.states, purge_to_trash.max_messages, null, v_removal_id
  );
  v_purge_id := signalbox._note_purge(v_removal_id, purge_to_trash.queue, purge_to_trash.states, v_bound, v_purged);
  if v_purge_id is not null then
    perform signalbox._audit_verb('queue.purge', q.queue_id, q.name, jsonb_build_object(
      'purge_id', v_purge_id, 'states', purge_to_trash.states, 'through_message_id', v_bound
    ))
    from signalbox.queue q
    where q.name = purge_to_trash.queue;
  end if;
  return v_purged;
end $$;

-- The removal of this role's purge that goes on, or a new one. With the owner's rights: purges are jobs, and not the role's to read.
create or replace function signalbox._removal_of_purge(p_queue text, p_states text[], p_keep_seconds double precision) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_removal_id bigint;
begin
  select j.removal_id into v_removal_id
  from signalbox.purge j
  join signalbox.removal r on r.removal_id = j.removal_id and r.keep_seconds = p_keep_seconds and r.restored = 0 and r.emptied = 0
  where j.queue_name = p_queue and j.created_by = left('sql:' || session_user, 150) and j.states = to_jsonb(p_states)
    and j.last_batch_at > clock_timestamp() - interval '5 minutes'
  order by j.purge_id desc
  limit 1
  for update of j, r skip locked; -- an undo that is under way has the removal
  return coalesce(v_removal_id, signalbox.open_removal(p_keep_seconds));
end $$;
revoke execute on function signalbox._removal_of_purge(text, text[], double precision) from public;

-- A step of a purge is over: its number, if the step began the purge, else null. A removal that got nothing goes.
create or replace function signalbox._note_purge(
  p_removal_id bigint, p_queue text, p_states text[], p_through_message_id bigint, p_purged bigint
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
  where j.removal_id = p_removal_id and j.queue_name = p_queue and j.created_by = left('sql:' || session_user, 150) and p_purged > 0;
  if found then
    return null;
  end if;
  if p_purged = 0 then
    delete from signalbox.removal r
    where r.removal_id = p_removal_id and r.trashed = 0
      and not exists (select from signalbox.purge j where j.queue_name = p_queue and j.removal_id = p_removal_id);
    return null;
  end if;
  insert into signalbox.purge (
    state, created_by, reason, started_at, last_batch_at, finished_at, total_estimate, total_is_exact, queue_name, states,
    through_message_id, through_dead_letter_id, purged, removal_id, trash_hours
  )
  select 'done', left('sql:' || session_user, 150), 'by ' || coalesce(nullif(current_setting('application_name', true), ''), 'a client'),
    clock_timestamp(), clock_timestamp(), clock_timestamp(), p_purged, true, p_queue, to_jsonb(p_states), p_through_message_id,
    coalesce(pg_sequence_last_value('signalbox.dead_letter_id'::regclass), 0), p_purged, r.removal_id, ceil(r.keep_seconds / 3600)
  from signalbox.removal r
  where r.removal_id = p_removal_id
  returning purge_id into v_purge_id;
  return v_purge_id;
end $$;
revoke execute on function signalbox._note_purge(bigint, text, text[], bigint, bigint) from public;
