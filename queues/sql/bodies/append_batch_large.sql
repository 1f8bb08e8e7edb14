-- append_batch_large(stream, payloads, body_sha256s, ...): append many messages, as append_batch does, of which some have
-- a payload that is too large for the log: JSON's null, with the hash of the large body at the same place of
-- body_sha256s. Call claim_body and upload each body before, in the same transaction. With deduplication ids it appends
-- as append_batch_deduplicated does. Needs READ COMMITTED. Indexes: large_body_pkey, the primary keys of the newest
-- segments.
create or replace function signalbox.append_batch_large(
  stream text,
  payloads jsonb[],
  body_sha256s bytea[],
  attributes jsonb[] default null,
  keys text[] default null,
  trace_ids text[] default null,
  deduplication_ids text[] default null
) returns table (partition integer, "position" bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(append_batch_large.stream);
  v_payloads jsonb[] := signalbox._as_list('payloads', append_batch_large.payloads);
  v_bodies bytea[] := signalbox._as_list('body_sha256s', append_batch_large.body_sha256s);
  v_began timestamptz := clock_timestamp();
  v_bytes bigint;
  v_partitions integer[];
  v_positions bigint[];
begin
  v_bytes := signalbox._check_stream_bodies(v_payloads, v_bodies, v_stream.max_payload_bytes);
  if v_stream.admission_flags > 0 then
    perform signalbox._admit_stream_bytes(v_stream.tenant_id, v_bytes);
  end if;
  if append_batch_large.deduplication_ids is null then
    select array_agg(a.partition order by a.number), array_agg(a.position order by a.number)
    into v_partitions, v_positions
    from signalbox.append_batch(
      v_stream.name, v_payloads, append_batch_large.attributes, append_batch_large.keys, append_batch_large.trace_ids
    ) with ordinality a(partition, position, number);
  else
    select array_agg(a.partition order by a.number), array_agg(a.position order by a.number)
    into v_partitions, v_positions
    from signalbox._append_batch_deduplicated(
      v_stream.name, v_payloads, append_batch_large.deduplication_ids, append_batch_large.attributes,
      append_batch_large.keys, append_batch_large.trace_ids, v_bodies
    ) with ordinality a(partition, position, number);
  end if;
  -- A message that was appended before with the same deduplication id has its pointer, or has been deleted.
  insert into signalbox.stream_body_pointer (stream_id, partition, position, sha256, bytes, appended_at)
  select v_stream.stream_id, n.partition, n.position, n.sha256, b.bytes, m.appended_at
  from (
    select distinct on (u.partition, u.position) u.partition::smallint as partition, u.position, u.sha256
    from unnest(v_partitions, v_positions, v_bodies) u(partition, position, sha256)
    where u.sha256 is not null
  ) n
  join signalbox.large_body b on b.sha256 = n.sha256
  join signalbox.stream_message m on m.stream_id = v_stream.stream_id and m.partition = n.partition
    and m.position = n.position
    and m.appended_at >= v_began;
  return query
  select p.partition, p.position
  from unnest(v_partitions, v_positions) with ordinality p(partition, position, number)
  order by p.number;
end $$;
