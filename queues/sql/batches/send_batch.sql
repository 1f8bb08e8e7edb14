-- send_batch(queue, payloads, ...): send many messages in one statement. Returns their ids in the order of the
-- payloads. Each option is null, or an array with one entry for each payload. All messages are sent, or none; the rest
-- is as for send.
create or replace function signalbox.send_batch(
  queue text,
  payloads jsonb[],
  attributes jsonb[] default null,
  priorities int[] default null,
  delay_seconds double precision[] default null,
  group_ids text[] default null,
  deduplication_ids text[] default null,
  trace_ids text[] default null,
  body_sha256s bytea[] default null
) returns setof bigint
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
  v_mode text;
  v_laned boolean;
  v_group_max_waiting bigint;
  v_turns bigint[];
  v_count integer := coalesce(cardinality(send_batch.payloads), 0);
  v_ids bigint[];
  v_before bigint;
  v_flags smallint;
begin
  select q.queue_id, q.closed
    or q.admission_flags & {flag.refuses_sends} > 0, q.delay_seconds, q.max_payload_bytes, q.mode,
    q.mode = 'fifo' or (q.group_max_in_flight > 0 or q.fair_groups)
      and send_batch.group_ids is not null, q.group_max_waiting, q.admission_flags
  into v_queue_id, v_closed, v_delay_seconds, v_max_payload_bytes, v_mode, v_laned, v_group_max_waiting, v_flags
  from signalbox.queue q
  where q.name = send_batch.queue;
  if not found then
    return query
    select *
    from signalbox.send_batch(
      signalbox._renamed(send_batch.queue), send_batch.payloads, send_batch.attributes, send_batch.priorities,
      send_batch.delay_seconds, send_batch.group_ids, send_batch.deduplication_ids, send_batch.trace_ids,
      send_batch.body_sha256s
    );
    return;
  end if;
  if v_closed then
    perform signalbox._refuse_closed(send_batch.queue);
  end if;
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if array_lower(send_batch.payloads, 1) <> 1 or array_ndims(send_batch.payloads) > 1 or
    array_lower(send_batch.attributes, 1) <> 1 or array_ndims(send_batch.attributes) > 1 or
    array_lower(send_batch.priorities, 1) <> 1 or array_ndims(send_batch.priorities) > 1 or
    array_lower(send_batch.delay_seconds, 1) <> 1 or array_ndims(send_batch.delay_seconds) > 1 or
    array_lower(send_batch.group_ids, 1) <> 1 or array_ndims(send_batch.group_ids) > 1 or
    array_lower(send_batch.deduplication_ids, 1) <> 1 or array_ndims(send_batch.deduplication_ids) > 1 or
    array_lower(send_batch.trace_ids, 1) <> 1 or array_ndims(send_batch.trace_ids) > 1 or
    array_lower(send_batch.body_sha256s, 1) <> 1 or array_ndims(send_batch.body_sha256s) > 1
  then
    return query
    select *
    from signalbox.send_batch(
      send_batch.queue,
      signalbox._as_list('payloads', send_batch.payloads),
      signalbox._as_list('attributes', send_batch.attributes),
      signalbox._as_list('priorities', send_batch.priorities),
      signalbox._as_list('delay_seconds', send_batch.delay_seconds),
      signalbox._as_list('group_ids', send_batch.group_ids),
      signalbox._as_list('deduplication_ids', send_batch.deduplication_ids),
      signalbox._as_list('trace_ids', send_batch.trace_ids),
      signalbox._as_list('body_sha256s', send_batch.body_sha256s)
    );
    return;
  end if;
  if v_count = 0 then
    return;
  end if;
  if v_count > 10000 then
    perform signalbox._refuse('payloads', format('has %s entries: at most 10000 go in one batch', v_count));
  end if;
  if v_flags & {flag.is_placed} > 0 then
    perform signalbox._check_placement(
      send_batch.queue, v_mode, send_batch.group_ids, send_batch.deduplication_ids, v_count
    );
  end if;
  perform signalbox._check_payload(p, v_max_payload_bytes, written.text)
  from unnest(send_batch.payloads) p
  cross join lateral (select p::text offset 0) written(text) -- so that the text is written once
  where p is null or octet_length(written.text) > v_max_payload_bytes
    or octet_length(written.text) > 256 and signalbox._unreadable(p, written.text) is not null;

  perform signalbox._check_batch_length('group_ids', cardinality(send_batch.group_ids), v_count);
  if v_flags & {flag.limits_sending} > 0 and send_batch.deduplication_ids is null then
    perform signalbox._admit_batch(v_queue_id, send_batch.payloads, null, send_batch.body_sha256s);
  end if;
  -- Deduplication ids are locked in sorted order (two batches never wait for each other in a circle) while ids come
  -- back in the order of the payloads; and before the turns of groups, as send does.
  if send_batch.deduplication_ids is not null then
    perform pg_advisory_xact_lock(v_queue_id, k.lock)
    from (
      select distinct hashtext(d) as lock from unnest(send_batch.deduplication_ids) d where d is not null order by 1
    ) k;
  end if;
  if v_mode = 'fifo' then
    v_turns := array(
      select distinct signalbox._fifo_turn(v_queue_id, send_batch.group_ids[i]) from generate_series(1, v_count) i
        order by 1
    );
    if cardinality(v_turns) > 1000 then
      perform signalbox._refuse(
        'group_ids', format('has %s groups: at most 1000 go in one batch of a FIFO queue', cardinality(v_turns))
      );
    end if;
    perform pg_advisory_xact_lock(t) from unnest(v_turns) t;
  end if;
  if v_delay_seconds = 0
    and num_nulls(send_batch.attributes, send_batch.priorities, send_batch.delay_seconds,
      send_batch.deduplication_ids, send_batch.trace_ids, send_batch.body_sha256s) = 6
    and (send_batch.group_ids is null or v_laned)
  then
    perform signalbox._check_options(null, 0, 0, g, null, null) from unnest(send_batch.group_ids) g where g is not null;
    v_ids := array(select nextval('signalbox.message_id'::regclass) from generate_series(1, v_count));
    if v_ids[v_count] > coalesce(pg_sequence_last_value('signalbox.log_end'::regclass), 0) then
      perform signalbox._ensure_segment(v_ids[1]), signalbox._ensure_segment(v_ids[v_count]);
    end if;
    if v_laned then
      if v_group_max_waiting > 0 or v_flags & {flag.limits_groups} > 0 then
        perform signalbox._refuse_full_lane(v_queue_id, l.lane, v_group_max_waiting, l.more)
        from (
          select signalbox._lane_of(v_mode, true, send_batch.group_ids[i]) as lane, count(*) as more
          from generate_series(1, v_count) i
          group by 1
        ) l
        where l.lane is not null;
      end if;
      perform signalbox._send_to_lanes(v_queue_id, v_mode, v_ids, send_batch.payloads, send_batch.group_ids);
      if v_flags & {flag.feeds_queues} > 0 then
        perform signalbox._send_to_subscribers(v_queue_id, v_ids);
      end if;
      return query select unnest(v_ids);
      return;
    end if;
    with logged as (
      insert into signalbox.message (message_id, queue_id, payload, priority, sent_at)
      select given.message_id, v_queue_id, given.payload, 0::smallint, moment.at
      from (select clock_timestamp() as at) moment, unnest(v_ids, send_batch.payloads) given(message_id, payload)
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.published}, v_count)
    ), moment as materialized (
      select signalbox.clock_time() as at
    )
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select v_queue_id, 0::smallint, 0::smallint, moment.at + given.place * interval '1 microsecond', given.message_id
    from moment, unnest(v_ids) with ordinality given(message_id, place);
    if v_flags & {flag.feeds_queues} > 0 then
      perform signalbox._send_to_subscribers(v_queue_id, v_ids);
    end if;
    return query select unnest(v_ids);
    return;
  end if;

  perform signalbox._check_batch_length('attributes', cardinality(send_batch.attributes), v_count);
  perform signalbox._check_batch_length('priorities', cardinality(send_batch.priorities), v_count);
  perform signalbox._check_batch_length('delay_seconds', cardinality(send_batch.delay_seconds), v_count);
  perform signalbox._check_batch_length('deduplication_ids', cardinality(send_batch.deduplication_ids), v_count);
  perform signalbox._check_batch_length('trace_ids', cardinality(send_batch.trace_ids), v_count);
  perform signalbox._check_batch_length('body_sha256s', cardinality(send_batch.body_sha256s), v_count);
  if v_delay_seconds = 0 and not v_laned
    and num_nulls(send_batch.delay_seconds, send_batch.deduplication_ids, send_batch.body_sha256s) = 3
  then
    v_ids := signalbox._send_with_options(
      v_queue_id, send_batch.payloads, send_batch.attributes, send_batch.priorities, send_batch.group_ids,
      send_batch.trace_ids
    );
    if v_flags & {flag.feeds_queues} > 0 then
      perform signalbox._send_to_subscribers(v_queue_id, v_ids);
    end if;
    return query select unnest(v_ids);
    return;
  end if;
  if v_flags & {flag.limits_sending} > 0 then
    if send_batch.deduplication_ids is not null then
      perform signalbox._admit_batch(
        v_queue_id, send_batch.payloads, send_batch.deduplication_ids, send_batch.body_sha256s
      );
    end if;
    perform set_config('signalbox.admitted', signalbox._sign('admitted ' || v_queue_id), true);
  end if;
  v_before := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  for i in 1..v_count loop
    v_ids[i] := signalbox._send_message(
      send_batch.queue,
      send_batch.payloads[i],
      send_batch.attributes[i],
      coalesce(send_batch.priorities[i], 0),
      send_batch.delay_seconds[i],
      send_batch.group_ids[i],
      send_batch.deduplication_ids[i],
      send_batch.trace_ids[i],
      send_batch.body_sha256s[i],
      false
    );
  end loop;
  if v_flags & {flag.limits_sending} > 0 then
    perform set_config('signalbox.admitted', '', true);
  end if;
  if v_flags & {flag.feeds_queues} > 0 then
    perform signalbox._send_to_subscribers(
      v_queue_id, array(select distinct i from unnest(v_ids) i where i > v_before)
    );
  end if;
  return query select unnest(v_ids);
end $$;
