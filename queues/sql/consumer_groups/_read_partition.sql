-- Return the messages of a partition above one position and up to another. Its segments, about ten, are merged, since a
-- message may be in an earlier segment than its neighbour that was appended at the same moment. Returns nothing when
-- the first position differs from the one that the reader knows: a segment is then being dropped, and this snapshot may
-- miss it.
create or replace function signalbox._read_partition(
  p_stream_id integer, p_partition integer, p_behind bigint, p_through bigint, p_limit integer, p_first bigint
) returns table ("position" bigint, key text, payload jsonb, attributes jsonb, trace_id text, appended_at timestamptz)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return query execute format(
    'select m.position, m.key, m.payload, m.attributes, m.trace_id, m.appended_at from signalbox.%I m'
    ' where m.partition = $1::smallint and m.position > $2 and m.position <= $3'
    ' and (select f.first_position from signalbox.stream_partition f'
    ' where f.stream_id = $5 and f.partition = $1::smallint) = $6'
    ' order by m.position limit $4',
    'stream_message_' || p_stream_id
  )
  using p_partition, p_behind, p_through, p_limit, p_stream_id, p_first;
end $$;
