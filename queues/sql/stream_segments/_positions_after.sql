-- Count the positions of a stream from a time on: in each partition from the first message of a later segment to the
-- last position. One probe of an index for each partition and segment; positions that were rolled back count too.
create or replace function signalbox._positions_after(p_stream signalbox.stream, p_at timestamptz) returns bigint
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first bigint;
  v_count bigint := 0;
begin
  for p in 0..p_stream.partitions - 1 loop
    execute format(
      'select m.position from signalbox.%I m where m.partition = $1::smallint and m.appended_at >= $2'
      ' order by m.position limit 1',
      'stream_message_' || p_stream.stream_id
    )
    into v_first
    using p, p_at;
    v_count := v_count + coalesce(pg_sequence_last_value(p_stream.positions[p + 1]) - v_first + 1, 0);
  end loop;
  return v_count;
end $$;
