-- The pointer to a large body of a message of a stream, as read_stream_with_bodies returns it; null for another message.
-- Reads in the snapshot of its caller. Index: stream_body_pointer_pkey.
create or replace function signalbox._stream_body(p_stream_id integer, p_partition smallint, p_position bigint)
returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select signalbox._body_of(b.sha256, b.bytes)
    from signalbox.stream_body_pointer b
    where b.stream_id = p_stream_id and b.partition = p_partition and b.position = p_position
  );
end $$;
