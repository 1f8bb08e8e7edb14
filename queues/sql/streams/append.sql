-- append(stream, payload, ...): append one message to a stream, in the caller's transaction. Returns its partition and
-- position. A message with a key goes to the key's partition; others take the partitions in turn. Readers of a
-- partition get messages in the order of positions, which is the order in which they were drawn: a message that was
-- appended after another had committed comes behind it. A rollback leaves only an unused position. Never waits. Touches
-- no index but by insertion: the segment's primary key (partition, position).
create or replace function signalbox.append(
  stream text,
  payload jsonb,
  attributes jsonb default null,
  key text default null,
  trace_id text default null
) returns table (partition integer, "position" bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  select * into v_stream from signalbox.stream s where s.name = append.stream;
  if not found then
    perform signalbox._refuse_unknown_stream(append.stream);
  end if;
  perform signalbox._check_append(
    v_stream.name, v_stream.closed, v_stream.max_payload_bytes, append.payload, append.attributes, append.key,
    append.trace_id
  );
  if v_stream.admission_flags > 0 then
    perform signalbox._admit_stream_bytes(v_stream.tenant_id, octet_length(append.payload::text));
    perform signalbox._admit_append(v_stream.tenant_id, v_stream.admission_flags, 1);
  end if;
  partition := case
    when append.key is null then nextval(v_stream.turn) % v_stream.partitions
    else signalbox._partition_of(append.key, v_stream.partitions)
  end;
  perform signalbox._enter_partition(v_stream.stream_id, partition, v_stream.positions[partition + 1]);
  position := nextval(v_stream.positions[partition + 1]);
  if clock_timestamp() > v_stream.segments_until - interval '5 seconds' then
    perform signalbox._ensure_stream_segments(v_stream.stream_id);
  end if;
  insert into signalbox.stream_message (stream_id, partition, position, payload, attributes, key, trace_id, appended_at)
  values (
    v_stream.stream_id, append.partition, append.position, append.payload, append.attributes, append.key,
    append.trace_id,
    clock_timestamp()
  );
  return next;
end $$;
