-- send(queue, payload, ...): send one message, in the caller's transaction. Returns the message id. The message is
-- durable when that transaction is; a rollback leaves nothing. With a deduplication id that was used within the queue's
-- window, or that a message holds, it sends nothing and returns the first message's id. A send that would exceed a
-- limit is refused at once (_admit).
-- It waits only for another sender of the same deduplication id; in a FIFO queue for a sender of the same message
-- group, until that one commits; and beyond the end of the log, where upkeep has not made the next segment, for the
-- sender that makes it.
-- A message of a group in a queue that is FIFO or limits groups waits until the group has room. A payload that is too
-- large for the log is sent as JSON's null with body_sha256, its hash, after claim_body and the upload. JSON that
-- clients cannot read is refused: more than 128 levels of arrays and objects, or a number of more than 1,000 characters
-- when written out, as 1e5000 is. A trace id has no control characters.
-- A queue that is placed on several cells takes only what is this cell's (_check_placement).
-- A queue that others subscribe to (subscribe) sends them their copies at the end. A plain message (no option, in a
-- queue that is not FIFO, is on one cell, and has no delay, limit or subscriber) is sent by the statements here, which
-- do what _send_message would do for it.
-- Touches no index but by insertion: message (queue_id, message_id), ready_claim, scheduled_due or waiting_lane.
create or replace function signalbox.send(
  queue text,
  payload jsonb,
  attributes jsonb default null,
  priority int default 0,
  delay_seconds double precision default null,
  group_id text default null,
  deduplication_id text default null,
  trace_id text default null,
  body_sha256 bytea default null
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_id bigint;
  v_text text;
begin
  if send.priority = 0 and num_nulls(
    send.attributes, send.delay_seconds, send.group_id, send.deduplication_id, send.trace_id, send.body_sha256
  ) = 6 then
    v_text := send.payload::text;
    select q.queue_id into v_queue_id
    from signalbox.queue q
    where q.name = send.queue and not q.closed and q.mode <> 'fifo' and q.delay_seconds = 0
      and q.admission_flags & ~({flag.limits_in_flight} | {flag.holds_deduplication_ids} | {flag.holds_claims}) = 0
      and octet_length(v_text) <= q.max_payload_bytes;
    if found and (octet_length(v_text) <= 256 or signalbox._unreadable(send.payload, v_text) is null) then
      if current_setting('signalbox.durable_commit', true) <> '' then
        perform signalbox._commit_durably();
      end if;
      v_id := nextval('signalbox.message_id'::regclass);
      if v_id > coalesce(pg_sequence_last_value('signalbox.log_end'::regclass), 0) then
        perform signalbox._ensure_segment(v_id);
      end if;
      with logged as (
        insert into signalbox.message (message_id, queue_id, payload, priority, sent_at)
        values (v_id, v_queue_id, send.payload, 0::smallint, clock_timestamp())
      ), counted as (
        insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.published}, 1)
      )
      insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
      values (v_queue_id, 0::smallint, 0::smallint, signalbox.clock_time(), v_id);
      return v_id;
    end if;
  end if;
  return signalbox._send_message(
    send.queue, send.payload, send.attributes, send.priority, send.delay_seconds, send.group_id, send.deduplication_id,
    send.trace_id, send.body_sha256, true
  );
end $$;
