-- stage_messages(stage, place, queue or stream, payloads, ...): stage messages that are to be sent together with those
-- of other processes. No consumer receives them before send_staged; a stage that is not sent is dropped after a day.
-- Messages that the queue or stream would refuse are refused now, with the same errors. Places give the order within a
-- stage, and each is written once. Each option is null, or an array with one entry for each payload; keys are the
-- groups of a queue, or the keys of a stream.
-- Staged messages are not logged: a crash of the database drops them. Touches no index but by insertion:
-- staged_write_pkey.
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
  cross join lateral (select p::text offset 0) written(text) -- so that the text is written once
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
    perform signalbox._check_binary(g.payload, g.attributes, false)
    from unnest(stage_messages.payloads, stage_messages.attributes) g(payload, attributes)
    where g.attributes ? 'binary_content_type';
  end if;
  insert into signalbox.staged_write (
    stage, place, queue_id, stream_id, payloads, attributes, priorities, delay_seconds, keys, deduplication_ids,
    trace_ids
  )
  values (
    stage_messages.stage, stage_messages.place, v_target.queue_id, v_target.stream_id, stage_messages.payloads,
    stage_messages.attributes, stage_messages.priorities, stage_messages.delay_seconds, stage_messages.keys,
    stage_messages.deduplication_ids, stage_messages.trace_ids
  );
  return v_count;
end $$;
