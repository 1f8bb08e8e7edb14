-- stage_messages(stage, place, queue or stream, payloads, ...): put messages aside that are to be sent together with those of
-- other processes. Nobody receives them before send_staged; a stage that nobody sends is gone after a day. What the queue or the
-- stream would refuse of them is refused now, by the same names. Places tell the order within a stage, and each is written once.
-- Each option is null, or an array with one entry for each payload; keys are the groups of a queue, the keys of a stream.
-- Nothing here is logged: a crash of the database empties it. Touches no index but by insertion: staged_write_pkey.
create or replace function signalbox.stage_messages(
  stage uuid,
  place integer,
  queue text,
  stream text,
  payloads jsonb[],
  attributes jsonb[] default null,
  priorities int[] default null,
  delay_seconds double precision[] default null,
  keys text[] default null,
  deduplication_ids text[] default null,
  trace_ids text[] default null
) returns integer
language plpgsql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_target record;
  v_count integer := coalesce(cardinality(stage_messages.payloads), 0);
begin
  stage_messages.payloads := signalbox._as_list('payloads', stage_messages.payloads);
  stage_messages.attributes := signalbox._as_list('attributes', stage_messages.attributes);
  stage_messages.priorities := signalbox._as_list('priorities', stage_messages.priorities);
  stage_messages.delay_seconds := signalbox._as_list('delay_seconds', stage_messages.delay_seconds);
  stage_messages.keys := signalbox._as_list('keys', stage_messages.keys);
  stage_messages.deduplication_ids := signalbox._as_list('deduplication_ids', stage_messages.deduplication_ids);
  stage_messages.trace_ids := signalbox._as_list('trace_ids', stage_messages.trace_ids);
  select * into v_target
  from signalbox._target_of(stage_messages.queue, stage_messages.stream) t;
  if v_count not between 1 and 1000 then
    perform signalbox._refuse('payloads', format('has %s entries: from 1 to 1000 are staged at once', v_count));
  end if;
  perform signalbox._check_batch_length(o.name, o.entries, v_count)
  from (values
    ('attributes', cardinality(stage_messages.attributes)),
    ('priorities', cardinality(stage_messages.priorities)),
    ('delay_seconds', cardinality(stage_messages.delay_seconds)),
    (case when v_target.stream_id is null then 'group_ids' else 'keys' end, cardinality(stage_messages.keys)),
    ('deduplication_ids', cardinality(stage_messages.deduplication_ids)),
    ('trace_ids', cardinality(stage_messages.trace_ids))
  ) o(name, entries);
  perform signalbox._check_payload(p, v_target.max_payload_bytes, written.text)
  from unnest(stage_messages.payloads) p
  cross join lateral (select p::text offset 0) written(text) -- once
  where p is null or octet_length(written.text) > v_target.max_payload_bytes
    or octet_length(written.text) > 256 and signalbox._unreadable(p, written.text) is not null;
  if v_target.stream_id is not null then
    if num_nonnulls(stage_messages.priorities, stage_messages.delay_seconds, stage_messages.deduplication_ids) > 0 then
      perform signalbox._refuse(
        case when stage_messages.priorities is not null then 'priorities'
          when stage_messages.delay_seconds is not null then 'delay_seconds' else 'deduplication_ids' end,
        'cannot be given for a stream'
      );
    end if;
    perform signalbox._check_append('', false, 2147483647, 'null', null, k, null)
    from unnest(stage_messages.keys) k
    where length(k) not between 1 and 200;
  end if;
  if num_nonnulls(
    stage_messages.attributes, stage_messages.priorities, stage_messages.delay_seconds, stage_messages.keys,
    stage_messages.deduplication_ids, stage_messages.trace_ids
  ) > 0 then
    perform signalbox._check_options(
      stage_messages.attributes[i],
      coalesce(stage_messages.priorities[i], 0),
      coalesce(stage_messages.delay_seconds[i], 0),
      case when v_target.stream_id is null then stage_messages.keys[i] end,
      stage_messages.deduplication_ids[i],
      stage_messages.trace_ids[i]
    )
    from generate_series(1, v_count) i;
  end if;
  insert into signalbox.staged_write (
    stage, place, queue_id, stream_id, payloads, attributes, priorities, delay_seconds, keys, deduplication_ids, trace_ids
  )
  values (
    stage_messages.stage, stage_messages.place, v_target.queue_id, v_target.stream_id, stage_messages.payloads,
    stage_messages.attributes, stage_messages.priorities, stage_messages.delay_seconds, stage_messages.keys,
    stage_messages.deduplication_ids, stage_messages.trace_ids
  );
  return v_count;
end $$;

-- Where staged messages go: one queue, or one stream, that is there and open.
create or replace function signalbox._target_of(p_queue text, p_stream text)
returns table (queue_id integer, stream_id integer, max_payload_bytes integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_closed boolean;
begin
  if num_nonnulls(p_queue, p_stream) <> 1 then
    perform signalbox._refuse('queue', 'or stream, one of the two, must be named');
  end if;
  if p_queue is not null then
    select q.queue_id, null, q.max_payload_bytes::integer, q.closed or q.guards & 16 > 0
    into queue_id, stream_id, max_payload_bytes, v_closed
    from signalbox.queue q
    where q.name = p_queue;
    if not found then
      return query select * from signalbox._target_of(signalbox._renamed(p_queue), null);
      return;
    elsif v_closed then
      perform signalbox._refuse_closed(p_queue);
    end if;
  else
    v_stream := signalbox._stream_of(p_stream);
    queue_id := null;
    stream_id := v_stream.stream_id;
    max_payload_bytes := v_stream.max_payload_bytes;
    perform signalbox._check_append(p_stream, v_stream.closed, max_payload_bytes, 'null', null, null, null);
  end if;
  return next;
end $$;
