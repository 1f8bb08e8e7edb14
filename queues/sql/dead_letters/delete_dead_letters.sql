-- delete_dead_letters(ids, trash_batch_id): move these dead letters to the trash (open_trash_batch), or delete them
-- permanently without a trash batch. Returns how many there were. A dead letter that a redrive or a consumer takes at
-- this moment is skipped. Locks the rows in order. Index: dead_letter_pkey (by any: see ack).
create or replace function signalbox.delete_dead_letters(dead_letter_ids bigint[], trash_batch_id bigint default null)
returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_deleted bigint;
begin
  if delete_dead_letters.trash_batch_id is not null then
    perform signalbox._check_trash_batch(delete_dead_letters.trash_batch_id);
  end if;
  v_deleted := signalbox._delete_dead_letters(
    dead_letter_ids, {outcome.purged}, {event.purged_dead}, {event.purged_held}, delete_dead_letters.trash_batch_id
  );
  if v_deleted > 0 then
    perform signalbox._audit_verb('dead_letter.delete', null, null, jsonb_build_object(
      'dead_letter_ids', to_jsonb(delete_dead_letters.dead_letter_ids[:100]), 'messages', v_deleted, 'trash_batch_id',
      delete_dead_letters.trash_batch_id
    ));
  end if;
  return v_deleted;
end $$;
