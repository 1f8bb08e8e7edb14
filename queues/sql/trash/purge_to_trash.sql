-- purge_to_trash(queue, through_message_id, states, max_messages, keep_seconds): purge into the trash, as the client's
-- purge does. The console, `restore` and an undo put the messages back for keep_seconds; with 0 seconds they are
-- permanently deleted. Returns how many were removed: call it with the same bound until it returns 0. Calls of one role
-- for one queue and the same states within five minutes of each other are one purge: it is listed once among the
-- purges, and has one row of the audit. Indexes: those of purge, purge_queue.
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
  v_bound bigint := coalesce(
    purge_to_trash.through_message_id, pg_sequence_last_value('signalbox.message_id'::regclass), 0
  );
  v_trash_batch_id bigint;
  v_purged bigint;
  v_purge_id bigint;
begin
  if purge_to_trash.keep_seconds = 0 then
    return signalbox.purge(purge_to_trash.queue, v_bound, purge_to_trash.states, purge_to_trash.max_messages);
  end if;
  v_trash_batch_id := signalbox._trash_batch_of_purge(
    purge_to_trash.queue, purge_to_trash.states, purge_to_trash.keep_seconds
  );
  v_purged := signalbox._purge(
    purge_to_trash.queue, v_bound, purge_to_trash.states, purge_to_trash.max_messages, null, v_trash_batch_id
  );
  v_purge_id := signalbox._note_purge(v_trash_batch_id, purge_to_trash.queue, purge_to_trash.states, v_bound, v_purged);
  if v_purge_id is not null then
    perform signalbox._audit_verb('queue.purge', q.queue_id, q.name, jsonb_build_object(
      'purge_id', v_purge_id, 'states', purge_to_trash.states, 'through_message_id', v_bound
    ))
    from signalbox.queue q
    where q.name = purge_to_trash.queue;
  end if;
  return v_purged;
end $$;
