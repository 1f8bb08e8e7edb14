-- read_stream(stream, group_name, member, max_messages): read the next messages of this member's partitions, as
-- read_stream_with_bodies does, without the column body. A message with a large body is an error (SB400, stream): it
-- would look like a message with the payload null.
create or replace function signalbox.read_stream(
  stream text, group_name text, member text, max_messages integer default 100
) returns table (
  partition integer, "position" bigint, epoch bigint, key text, payload jsonb, attributes jsonb, trace_id text,
  appended_at timestamptz
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select r.partition, r.position, r.epoch, r.key,
    case when r.body is null then r.payload
      else signalbox._refuse_body(read_stream.stream, r.partition, r.position) end,
    r.attributes, r.trace_id, r.appended_at
  from signalbox.read_stream_with_bodies(
    read_stream.stream, read_stream.group_name, read_stream.member, read_stream.max_messages
  ) r;
end $$;
