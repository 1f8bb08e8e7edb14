-- browse_stream(stream, partition, above, below, max_messages): messages of one partition to look at, newest first:
-- those below a position, or the next ones above one in ascending order. It belongs to no group and moves nothing. At
-- most 2 KB of each payload. Cost: a probe of each segment's primary key, however deep.
create or replace function signalbox.browse_stream(
  stream text, partition integer, above bigint default null, below bigint default null, max_messages integer default 50
) returns table ("position" bigint, key text, payload_text text, appended_at timestamptz)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(browse_stream.stream);
begin
  return query execute format(
    'select m.position, m.key, left(m.payload::text, 2048), m.appended_at from signalbox.%I m'
    ' where m.partition = $1::smallint and m.position > $2 and m.position < $3 order by m.position %s limit $4',
    'stream_message_' || v_stream.stream_id, case when browse_stream.above is null then 'desc' else 'asc' end
  )
  using browse_stream.partition, coalesce(browse_stream.above, 0), coalesce(browse_stream.below, 9223372036854775807),
    least(greatest(browse_stream.max_messages, 1), 1000);
end $$;
