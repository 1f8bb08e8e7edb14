-- append_batch(stream, payloads, ...): append many messages in one statement. Returns their partitions and positions in
-- the order of the payloads. Each option is null, or an array with one entry for each payload. All are appended, or
-- none; the rest is as for append.
create or replace function signalbox.append_batch(
  stream text,
  payloads jsonb[],
  attributes jsonb[] default null,
  keys text[] default null,
  trace_ids text[] default null
) returns table (partition integer, "position" bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_count integer := coalesce(cardinality(append_batch.payloads), 0);
  v_turn bigint;
  v_partitions integer[];
  v_drawn bigint[];
begin
  append_batch.payloads := signalbox._as_list('payloads', append_batch.payloads);
  append_batch.attributes := signalbox._as_list('attributes', append_batch.attributes);
  append_batch.keys := signalbox._as_list('keys', append_batch.keys);
  append_batch.trace_ids := signalbox._as_list('trace_ids', append_batch.trace_ids);
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  select * into v_stream from signalbox.stream s where s.name = append_batch.stream;
  if not found then
    perform signalbox._refuse_unknown_stream(append_batch.stream);
  end if;
  if v_count > 10000 then
    perform signalbox._refuse('payloads', format('has %s entries: at most 10000 go in one batch', v_count));
  end if;
  perform signalbox._check_batch_length('attributes', cardinality(append_batch.attributes), v_count);
  perform signalbox._check_batch_length('keys', cardinality(append_batch.keys), v_count);
  perform signalbox._check_batch_length('trace_ids', cardinality(append_batch.trace_ids), v_count);
  perform signalbox._check_append(
    v_stream.name, v_stream.closed, v_stream.max_payload_bytes,
    append_batch.payloads[i], append_batch.attributes[i], append_batch.keys[i], append_batch.trace_ids[i]
  )
  from generate_series(1, v_count) i;
  if v_count = 0 then
    return;
  end if;
  if v_stream.admission_flags > 0 then
    perform signalbox._admit_stream_bytes(
      v_stream.tenant_id, (select sum(octet_length(p::text)) from unnest(append_batch.payloads) p)
    );
    perform signalbox._admit_append(v_stream.tenant_id, v_stream.admission_flags, v_count);
  end if;
  v_turn := nextval(v_stream.turn);
  v_partitions := array(
    select case
        when append_batch.keys[i] is null then (v_turn + i - 1) % v_stream.partitions
        else signalbox._partition_of(append_batch.keys[i], v_stream.partitions)
      end::integer
    from generate_series(1, v_count) i
  );
  perform signalbox._enter_partition(v_stream.stream_id, e.partition, v_stream.positions[e.partition + 1])
  from (select distinct p as partition from unnest(v_partitions) p) e;
  v_drawn := array(
    select nextval(v_stream.positions[d.partition + 1]) from unnest(v_partitions) with ordinality d(partition, place)
  );
  if clock_timestamp() > v_stream.segments_until - interval '5 seconds' then
    perform signalbox._ensure_stream_segments(v_stream.stream_id);
  end if;
  insert into signalbox.stream_message (stream_id, partition, position, payload, attributes, key, trace_id, appended_at)
  select v_stream.stream_id, v_partitions[i], v_drawn[i], append_batch.payloads[i], append_batch.attributes[i],
    append_batch.keys[i], append_batch.trace_ids[i], m.at
  from (select clock_timestamp() as at) m, generate_series(1, v_count) i;
  return query select v_partitions[i], v_drawn[i] from generate_series(1, v_count) i;
end $$;
