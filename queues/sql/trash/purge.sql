-- purge(queue, through_message_id, states, max_messages): remove messages with ids up to through_message_id (null: all
-- that exist now) from the named states; at most max_messages a call, so that one call is one small transaction.
-- Returns how many were removed: call it with the same bound until it returns 0 (null is a new bound at every call).
-- Messages that are sent after the bound are never touched; for dead letters the bound is through_dead_letter_id, so
-- that later ones stay too.
-- With a trash_batch_id (open_trash_batch) they go to the trash, from which restore puts them back; without one they
-- are permanently deleted. SKIP LOCKED: a message that a consumer is claiming at this moment is skipped. A call that
-- removes something writes a row of the audit.
create or replace function signalbox.purge(
  queue text,
  through_message_id bigint default null,
  states text[] default '{ready,scheduled,waiting}',
  max_messages int default 10000,
  through_dead_letter_id bigint default null,
  trash_batch_id bigint default null
) returns bigint
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_purged bigint := signalbox._purge(
    purge.queue, purge.through_message_id, purge.states, purge.max_messages, purge.through_dead_letter_id,
    purge.trash_batch_id
  );
begin
  if v_purged > 0 then
    perform signalbox._audit_verb('queue.purge', q.queue_id, q.name, jsonb_build_object(
      'states', purge.states, 'messages', v_purged, 'trash_batch_id', purge.trash_batch_id
    ))
    from signalbox.queue q
    where q.name = purge.queue;
  end if;
  return v_purged;
end $$;
