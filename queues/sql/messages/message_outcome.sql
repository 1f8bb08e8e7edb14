-- message_outcome(message_id): the state of one message, and how it ended; no row when the message is unknown or its
-- retention is over. status uses the words of message_status, and purged or expired beside them. outcome is null while
-- the message may still be delivered, and otherwise acked, purged, expired or dead (until it is redriven). result is
-- what its ack stored.
-- Never reads through ready messages: a message that is known and in no other table is ready. All as of one moment
-- (stable). Indexes: lease_pkey, scheduled_message, waiting_message, dead_letter_message_id_key, trash_message,
-- message_pkey once for each queue, settled_ids (BRIN) on the days since it was sent.
create or replace function signalbox.message_outcome(message_id bigint)
returns table (
  queue text,
  status text,
  outcome text,
  receive_count int,
  settled_at timestamptz,
  result jsonb
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_sent_at timestamptz;
begin
  select l.queue_id, 'processing', l.receive_count
  into v_queue_id, status, receive_count
  from signalbox.lease l
  where l.message_id = message_outcome.message_id;
  if v_queue_id is null then
    select s.queue_id,
      case
        when s.receive_count = 0 or signalbox._counted_receives(s.message_id, s.receive_count) = 0 then 'pending'
        else 'failed'
      end,
      s.receive_count
    into v_queue_id, status, receive_count
    from signalbox.scheduled s
    where s.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select w.queue_id,
      case
        when w.receive_count = 0 or signalbox._counted_receives(w.message_id, w.receive_count) = 0 then 'pending'
        else 'failed'
      end,
      w.receive_count
    into v_queue_id, status, receive_count
    from signalbox.waiting w
    where w.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select d.source_queue_id, 'dead', 'dead', d.receive_count, d.died_at
    into v_queue_id, status, outcome, receive_count, settled_at
    from signalbox.dead_letter d
    where d.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select t.queue_id, 'purged', 'purged', t.receive_count, t.trashed_at
    into v_queue_id, status, outcome, receive_count, settled_at
    from signalbox.trash t
    where t.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select b.queue_id, b.sent_at into v_queue_id, v_sent_at from signalbox._log_of(message_outcome.message_id) b;
    if v_queue_id is null then
      return;
    end if;
    select e.queue_id, e.status, e.outcome, e.receive_count, e.settled_at, e.result
    into v_queue_id, status, outcome, receive_count, settled_at, result
    from signalbox._ending_of(v_queue_id, message_outcome.message_id, v_sent_at) e;
    if status is null then
      return;
    end if;
  end if;
  select q.name into queue from signalbox.queue q where q.queue_id = v_queue_id;
  return next;
end $$;
