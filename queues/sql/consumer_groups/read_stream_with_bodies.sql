-- read_stream_with_bodies(stream, group_name, member, max_messages): read the next messages of this member's partitions:
-- above the group's offset, up to the horizon (_horizons), starting with the partition that was committed longest ago.
-- Reading moves nothing: without commit_offset the next read returns the same messages. Joins the group where the
-- member has not joined. Messages that retention dropped before the group read them are counted as lost, and never
-- skipped silently. body names a payload that is too large for the log, by its sha256 and bytes; payload is then JSON's
-- null.
-- Cost: the group's few rows, pg_locks, and one probe of each segment's primary key (partition, position).
create or replace function signalbox.read_stream_with_bodies(
  stream text, group_name text, member text, max_messages integer default 100
) returns table (
  partition integer, "position" bigint, epoch bigint, key text, payload jsonb, attributes jsonb, trace_id text,
  appended_at timestamptz, body jsonb
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(read_stream_with_bodies.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, read_stream_with_bodies.group_name);
begin
  if read_stream_with_bodies.max_messages is null or read_stream_with_bodies.max_messages not between 1 and 10000 then
    perform signalbox._refuse('max_messages', 'must be from 1 to 10000');
  end if;
  perform signalbox._check_member(v_group.name, v_group.queue_id is not null, read_stream_with_bodies.member);
  if v_stream.admission_flags & {flag.holds_claims} > 0 then
    return; -- maintenance
  end if;
  perform signalbox._renew_member(v_group.group_id, read_stream_with_bodies.member, null);
  perform signalbox._balance(v_group.group_id, read_stream_with_bodies.member, v_stream.partitions);
  return query
  select *
  from signalbox._read_group_messages(
    v_group.group_id, read_stream_with_bodies.member, read_stream_with_bodies.max_messages
  );
end $$;
