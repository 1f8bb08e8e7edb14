-- erase_stream_messages(erasure_id, stream_id, partitions, positions): replace the payloads of these messages of a
-- stream with {"erased": "<erasure_id>"}, and remove their attributes. Positions, keys and offsets of consumer groups
-- stay: a reader gets the marker. Their large bodies are noted for erase_body. Returns how many messages there were.
-- Indexes: the primary key of each segment (partition, position), stream_body_pointer_pkey.
create or replace function signalbox.erase_stream_messages(
  erasure_id bigint, stream_id integer, partitions smallint[], positions bigint[]
) returns bigint
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_erased bigint;
begin
  if to_regclass(format('signalbox.%I', 'stream_message_' || erase_stream_messages.stream_id)) is null then
    return 0; -- it was dropped after the caller looked
  end if;
  insert into signalbox.erasure_body (erasure_id, sha256)
  select distinct erase_stream_messages.erasure_id, u.sha256
  from unnest(signalbox._release_stream_bodies(
    erase_stream_messages.stream_id, erase_stream_messages.partitions, erase_stream_messages.positions
  )) u(sha256)
  on conflict do nothing;
  execute format(
    'update signalbox.%I m set payload = $1, attributes = null from unnest($2, $3) g(part, place)'
    ' where m.partition = g.part and m.position = g.place and (m.payload <> $1 or m.attributes is not null)',
    'stream_message_' || erase_stream_messages.stream_id
  )
  using jsonb_build_object('erased', erase_stream_messages.erasure_id::text), erase_stream_messages.partitions,
  erase_stream_messages.positions;
  get diagnostics v_erased = row_count;
  return v_erased;
end $$;
