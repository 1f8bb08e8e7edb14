-- Refuse to return a message with a large body without its pointer.
create or replace function signalbox._refuse_body(p_stream text, p_partition integer, p_position bigint) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse('stream', format(
    'is %s, whose message %s of partition %s has a large body: read it with read_stream_with_bodies, or a newer client',
    quote_literal(p_stream), p_position, p_partition
  ));
end $$;
