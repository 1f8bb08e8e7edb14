-- Append many messages, each unless one was appended with its deduplication id within the stream's window, as
-- append_batch_deduplicated does. p_body_sha256s: the large bodies that belong to the messages.
create or replace function signalbox._append_batch_deduplicated(
  p_stream text, p_payloads jsonb[], p_deduplication_ids text[], p_attributes jsonb[], p_keys text[],
  p_trace_ids text[], p_body_sha256s bytea[]
) returns table (partition integer, "position" bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(p_stream);
  v_count integer := coalesce(cardinality(p_payloads), 0);
  v_payloads jsonb[] := signalbox._as_list('payloads', p_payloads);
  v_ids text[] := coalesce(
    signalbox._as_list('deduplication_ids', p_deduplication_ids),
    array_fill(null::text, array[v_count])
  );
  v_attributes jsonb[] := signalbox._as_list('attributes', p_attributes);
  v_keys text[] := signalbox._as_list('keys', p_keys);
  v_traces text[] := signalbox._as_list('trace_ids', p_trace_ids);
  v_hashes bytea[];
  v_new integer[];
  v_places record;
begin
  if v_count > 10000 then
    perform signalbox._refuse('payloads', format('has %s entries: at most 10000 go in one batch', v_count));
  end if;
  perform signalbox._check_batch_length('deduplication_ids', cardinality(v_ids), v_count);
  perform signalbox._check_batch_length('attributes', cardinality(v_attributes), v_count);
  perform signalbox._check_batch_length('keys', cardinality(v_keys), v_count);
  perform signalbox._check_batch_length('trace_ids', cardinality(v_traces), v_count);
  perform signalbox._check_append_ids(v_stream.stream_id, v_ids);
  v_hashes := array(
    select case when v_ids[i] is not null then signalbox._request_hash(
        v_payloads[i], v_attributes[i], 0, v_keys[i], p_body_sha256s[i]
      ) end
    from generate_series(1, v_count) i
    order by i
  );
  v_new := array(
    select d.place
    from (
      select d.*, row_number() over (partition by d.id order by d.place) as number
      from unnest(v_ids, v_hashes) with ordinality d(id, hash, place)
    ) d
    where d.id is null
      or d.number = 1 and (signalbox._first_append(v_stream.stream_id, d.id, d.hash)).position is null
    order by d.place
  );
  select array_agg(a.partition order by a.number) as partitions, array_agg(a.position order by a.number) as positions
  into v_places
  from signalbox.append_batch(
    v_stream.name,
    array(select v_payloads[i] from unnest(v_new) i),
    case when v_attributes is not null then array(select v_attributes[i] from unnest(v_new) i) end,
    case when v_keys is not null then array(select v_keys[i] from unnest(v_new) i) end,
    case when v_traces is not null then array(select v_traces[i] from unnest(v_new) i) end
  ) with ordinality a(partition, position, number);
  insert into signalbox.stream_dedup (
    stream_id, deduplication_id, partition, position, request_hash, appended_at, expires_at
  )
  select v_stream.stream_id, v_ids[n.i], v_places.partitions[n.place], v_places.positions[n.place], v_hashes[n.i],
    m.at, m.at + v_stream.dedup_window_seconds * interval '1 second'
  from (select clock_timestamp() as at) m, unnest(v_new) with ordinality n(i, place)
  where v_ids[n.i] is not null;
  perform nextval(v_stream.repeats) from generate_series(1, v_count - cardinality(v_new));
  return query
  select coalesce(v_places.partitions[n.place], f.partition), coalesce(v_places.positions[n.place], f.position)
  from unnest(v_ids, v_hashes) with ordinality d(id, hash, number)
  left join unnest(v_new) with ordinality n(number, place) on n.number = d.number
  left join lateral signalbox._first_append(v_stream.stream_id, d.id, d.hash) f on n.place is null
  order by d.number;
end $$;
