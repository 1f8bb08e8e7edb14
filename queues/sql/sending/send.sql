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
-- queue that is not FIFO, is on one cell, and has no delay, limit or subscriber) is sent by the first statements alone,
-- which do what the others would do for it.
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
  v_closed boolean;
  v_delay_seconds double precision;
  v_max_payload_bytes integer;
  v_first_id bigint;
  v_id bigint;
  v_mode text;
  v_flags smallint;
  v_group_max_waiting bigint;
  v_lane text;
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
  select q.queue_id, q.closed
    or q.admission_flags & {flag.refuses_sends} > 0, coalesce(send.delay_seconds, q.delay_seconds), q.max_payload_bytes,
    q.mode,
    signalbox._lane_of(q.mode, q.group_max_in_flight, send.group_id), q.group_max_waiting, q.admission_flags
  into v_queue_id, v_closed, v_delay_seconds, v_max_payload_bytes, v_mode, v_lane, v_group_max_waiting, v_flags
  from signalbox.queue q
  where q.name = send.queue;
  if not found then
    return signalbox.send(
      signalbox._renamed(send.queue), send.payload, send.attributes, send.priority, send.delay_seconds, send.group_id,
      send.deduplication_id, send.trace_id, send.body_sha256
    );
  end if;
  if v_closed then
    perform signalbox._refuse_closed(send.queue);
  end if;
  if v_flags & {flag.is_placed} > 0 then
    perform signalbox._check_placement(
      send.queue, v_mode, array[send.group_id], array[send.deduplication_id], 1
    );
  end if;
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  v_text := send.payload::text;
  if send.payload is null or octet_length(v_text) > v_max_payload_bytes
    or octet_length(v_text) > 256 and signalbox._unreadable(send.payload, v_text) is not null
  then
    perform signalbox._check_payload(send.payload, v_max_payload_bytes, v_text);
  end if;
  if v_delay_seconds <> 0 or send.priority is distinct from 0 or send.attributes is not null
    or send.group_id is not null or send.trace_id is not null or send.deduplication_id is not null
  then
    perform signalbox._check_options(
      send.attributes, send.priority, v_delay_seconds, send.group_id, send.deduplication_id, send.trace_id
    );
    if v_delay_seconds > 0 and v_mode = 'fifo' then
      perform signalbox._refuse_fifo_delay();
    end if;
    if send.priority > 0 then
      perform signalbox._use_priority(v_queue_id, send.priority::smallint);
    end if;
    if send.deduplication_id is not null then
      if v_flags & {flag.holds_deduplication_ids} > 0 then
        v_first_id := signalbox._held_key(
          v_queue_id, send.deduplication_id, send.payload, send.attributes, send.priority, send.group_id,
          send.body_sha256
        );
      else
        v_first_id := signalbox._deduplicate(
          v_queue_id, send.deduplication_id, send.payload, send.attributes, send.priority, send.group_id,
          send.body_sha256
        );
      end if;
      if v_first_id is not null then
        return v_first_id;
      end if;
    end if;
  end if;

  if v_flags & {flag.limits_sending} > 0 then
    if (v_group_max_waiting > 0 or v_flags & {flag.limits_groups} > 0) and v_lane is not null then
      perform signalbox._refuse_full_lane(v_queue_id, v_lane, v_group_max_waiting); -- before it takes from a quota
    end if;
    perform signalbox._admit(v_queue_id, 1, octet_length(v_text) + signalbox._stored_bytes(array[send.body_sha256]));
  end if;
  if v_mode = 'fifo' then
    perform pg_advisory_xact_lock(signalbox._fifo_turn(v_queue_id, v_lane));
  end if;
  if (v_group_max_waiting > 0 or v_flags & {flag.limits_groups} > 0) and v_lane is not null then
    perform signalbox._refuse_full_lane(v_queue_id, v_lane, v_group_max_waiting);
  end if;
  v_id := nextval('signalbox.message_id'::regclass);
  if v_id > coalesce(pg_sequence_last_value('signalbox.log_end'::regclass), 0) then
    perform signalbox._ensure_segment(v_id);
  end if;
  if v_delay_seconds > 0 then
    with logged as (
      insert into signalbox.message (
        message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at
      )
      values (
        v_id, v_queue_id, send.payload, send.attributes, send.group_id, send.deduplication_id, send.trace_id,
        send.priority::smallint, clock_timestamp()
      )
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.published_scheduled}, 1)
    )
    insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id, lane)
    values (
      v_queue_id, send.priority::smallint, 0::smallint,
      greatest(clock_timestamp() + v_delay_seconds * interval '1 second', signalbox.clock_time()), v_id, v_lane
    );
  elsif v_lane is not null then
    with logged as (
      insert into signalbox.message (
        message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at
      )
      values (
        v_id, v_queue_id, send.payload, send.attributes, send.group_id, send.deduplication_id, send.trace_id,
        send.priority::smallint, clock_timestamp()
      )
    )
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
      values (v_queue_id, {event.published_waiting}, 1, v_lane);
    perform signalbox._enter_lane(v_queue_id, v_lane, send.priority::smallint, 0::smallint, v_id);
  else
    with logged as (
      insert into signalbox.message (
        message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at
      )
      values (
        v_id, v_queue_id, send.payload, send.attributes, send.group_id, send.deduplication_id, send.trace_id,
        send.priority::smallint, clock_timestamp()
      )
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.published}, 1)
    )
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    values (v_queue_id, send.priority::smallint, 0::smallint, signalbox.clock_time(), v_id);
  end if;
  if send.deduplication_id is not null and v_flags & {flag.holds_deduplication_ids} > 0 then
    perform signalbox._hold_key(
      v_queue_id, send.deduplication_id, v_id, send.payload, send.attributes, send.priority, send.group_id,
      send.body_sha256
    );
  elsif send.deduplication_id is not null then
    perform signalbox._remember_deduplication(
      v_queue_id, send.deduplication_id, v_id, send.payload, send.attributes, send.priority, send.group_id,
      send.body_sha256
    );
  end if;
  if send.body_sha256 is not null then
    perform signalbox._point_to_body(v_queue_id, v_id, send.payload, send.body_sha256, v_max_payload_bytes);
  end if;
  if v_flags & {flag.feeds_queues} > 0
    and current_setting('signalbox.copied', true) is distinct from signalbox._sign('copied ' || v_queue_id)
  then
    perform signalbox._send_to_subscribers(v_queue_id, array[v_id]);
  end if;
  return v_id;
end $$;
