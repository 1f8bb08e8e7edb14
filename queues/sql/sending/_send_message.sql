-- Send one message with any options to any queue. send calls it where its own shorter statements do not apply, and
-- send_batch calls it for each message. p_copies false: the caller itself sends the copies for subscriptions, for all
-- its messages together. The callers have the settings for the planner. Indexes: as for send.
create or replace function signalbox._send_message(
  p_queue text, p_payload jsonb, p_attributes jsonb, p_priority int, p_delay_seconds double precision, p_group_id text,
  p_deduplication_id text, p_trace_id text, p_body_sha256 bytea, p_copies boolean
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
  select q.queue_id, q.closed
    or q.admission_flags & {flag.refuses_sends} > 0, coalesce(p_delay_seconds, q.delay_seconds), q.max_payload_bytes,
    q.mode,
    signalbox._lane_of(q.mode, q.group_max_in_flight > 0 or q.fair_groups, p_group_id), q.group_max_waiting,
    q.admission_flags
  into v_queue_id, v_closed, v_delay_seconds, v_max_payload_bytes, v_mode, v_lane, v_group_max_waiting, v_flags
  from signalbox.queue q
  where q.name = p_queue;
  if not found then
    return signalbox._send_message(
      signalbox._renamed(p_queue), p_payload, p_attributes, p_priority, p_delay_seconds, p_group_id,
      p_deduplication_id, p_trace_id, p_body_sha256, p_copies
    );
  end if;
  if v_closed then
    perform signalbox._refuse_closed(p_queue);
  end if;
  if v_flags & {flag.is_placed} > 0 then
    perform signalbox._check_placement(
      p_queue, v_mode, array[p_group_id], array[p_deduplication_id], 1
    );
  end if;
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  v_text := p_payload::text;
  if p_payload is null or octet_length(v_text) > v_max_payload_bytes
    or octet_length(v_text) > 256 and signalbox._unreadable(p_payload, v_text) is not null
  then
    perform signalbox._check_payload(p_payload, v_max_payload_bytes, v_text);
  end if;
  if v_delay_seconds <> 0 or p_priority is distinct from 0 or p_attributes is not null
    or p_group_id is not null or p_trace_id is not null or p_deduplication_id is not null
  then
    perform signalbox._check_options(
      p_attributes, p_priority, v_delay_seconds, p_group_id, p_deduplication_id, p_trace_id
    );
    if p_attributes ? 'binary_content_type' then
      perform signalbox._check_binary(p_payload, p_attributes, p_body_sha256 is not null);
    end if;
    if v_delay_seconds > 0 and v_mode = 'fifo' then
      perform signalbox._refuse_fifo_delay();
    end if;
    if p_priority > 0 then
      perform signalbox._use_priority(v_queue_id, p_priority::smallint);
    end if;
    if p_deduplication_id is not null then
      if v_flags & {flag.holds_deduplication_ids} > 0 then
        v_first_id := signalbox._held_key(
          v_queue_id, p_deduplication_id, p_payload, p_attributes, p_priority, p_group_id,
          p_body_sha256
        );
      else
        v_first_id := signalbox._deduplicate(
          v_queue_id, p_deduplication_id, p_payload, p_attributes, p_priority, p_group_id,
          p_body_sha256
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
    perform signalbox._admit(v_queue_id, 1, octet_length(v_text) + signalbox._stored_bytes(array[p_body_sha256]));
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
        v_id, v_queue_id, p_payload, p_attributes, p_group_id, p_deduplication_id, p_trace_id,
        p_priority::smallint, clock_timestamp()
      )
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.published_scheduled}, 1)
    )
    insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id, lane)
    values (
      v_queue_id, p_priority::smallint, 0::smallint,
      greatest(clock_timestamp() + v_delay_seconds * interval '1 second', signalbox.clock_time()), v_id, v_lane
    );
  elsif v_lane is not null then
    with logged as (
      insert into signalbox.message (
        message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at
      )
      values (
        v_id, v_queue_id, p_payload, p_attributes, p_group_id, p_deduplication_id, p_trace_id,
        p_priority::smallint, clock_timestamp()
      )
    )
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
      values (v_queue_id, {event.published_waiting}, 1, v_lane);
    perform signalbox._enter_lane(v_queue_id, v_lane, p_priority::smallint, 0::smallint, v_id);
  else
    with logged as (
      insert into signalbox.message (
        message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at
      )
      values (
        v_id, v_queue_id, p_payload, p_attributes, p_group_id, p_deduplication_id, p_trace_id,
        p_priority::smallint, clock_timestamp()
      )
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.published}, 1)
    )
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    values (v_queue_id, p_priority::smallint, 0::smallint, signalbox.clock_time(), v_id);
  end if;
  if p_deduplication_id is not null and v_flags & {flag.holds_deduplication_ids} > 0 then
    perform signalbox._hold_key(
      v_queue_id, p_deduplication_id, v_id, p_payload, p_attributes, p_priority, p_group_id,
      p_body_sha256
    );
  elsif p_deduplication_id is not null then
    perform signalbox._remember_deduplication(
      v_queue_id, p_deduplication_id, v_id, p_payload, p_attributes, p_priority, p_group_id,
      p_body_sha256
    );
  end if;
  if p_body_sha256 is not null then
    perform signalbox._point_to_body(v_queue_id, v_id, p_payload, p_body_sha256, v_max_payload_bytes);
  end if;
  if p_copies and v_flags & {flag.feeds_queues} > 0 then
    perform signalbox._send_to_subscribers(v_queue_id, array[v_id]);
  end if;
  return v_id;
end $$;
