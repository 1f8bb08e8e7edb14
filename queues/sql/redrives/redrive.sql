-- redrive(dead_letter_ids, target_queue, redrive_id, actor): send these dead letters again, to the queue in which they
-- died or to target_queue. Dead letters that no longer exist are skipped. The message keeps its id, starts with no
-- deliveries, and records who sent it. In a message group it takes the last place; a message that has held its FIFO
-- group since it died (fifo_block_on_dead_letter) goes first. Returns the messages that it sent; the caller keeps
-- transactions small. Where messages hold their deduplication ids, a message whose id another one holds is skipped too
-- (_retake_keys). Locks the rows in order, SKIP LOCKED. Index: dead_letter_pkey (by any: see ack).
create or replace function signalbox.redrive(
  dead_letter_ids bigint[],
  target_queue text default null,
  redrive_id bigint default null,
  actor text default null
) returns table (dead_letter_id bigint, message_id bigint, queue_id int)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_redriven bigint;
begin
  return query
  select r.dead_letter_id, r.message_id, r.queue_id
  from signalbox._redrive(redrive.dead_letter_ids, redrive.target_queue, redrive.redrive_id, redrive.actor, null) r;
  get diagnostics v_redriven = row_count;
  if v_redriven > 0 then
    perform signalbox._audit_verb('dead_letter.redrive', null, null, jsonb_build_object(
      'dead_letter_ids', to_jsonb(redrive.dead_letter_ids[:100]), 'messages', v_redriven, 'target_queue',
      redrive.target_queue,
      'redrive_id', redrive.redrive_id
    ));
  end if;
end $$;
