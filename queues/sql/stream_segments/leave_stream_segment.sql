-- leave_stream_segment(stream_id, starts_at): move each partition's first position behind a segment: to the first
-- message in a later one, or to the end of what is committed. Where compaction keeps an earlier segment, none moves.
create or replace function signalbox.leave_stream_segment(stream_id integer, starts_at timestamptz) returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_horizons bigint[];
  v_ends_at timestamptz;
  v_first bigint;
begin
  select * into v_stream from signalbox.stream s where s.stream_id = leave_stream_segment.stream_id;
  update signalbox.stream_segment g
  set leaving = true
  where g.stream_id = leave_stream_segment.stream_id and g.starts_at = leave_stream_segment.starts_at
  returning g.ends_at into v_ends_at;
  if not found then
    return;
  end if;
  perform from signalbox.stream_segment g
  where g.stream_id = v_stream.stream_id and g.starts_at < leave_stream_segment.starts_at and not g.leaving;
  if v_stream.compaction and found then
    return;
  end if;
  v_horizons := signalbox._horizons(v_stream.stream_id, v_stream.positions);
  for p in 0..v_stream.partitions - 1 loop
    execute format(
      'select m.position from signalbox.%I m where m.partition = $1::smallint and m.appended_at >= $2'
      ' order by m.position limit 1',
      'stream_message_' || v_stream.stream_id
    )
    into v_first
    using p, v_ends_at;
    v_first := least(v_first, v_horizons[p + 1] + 1); -- never past one that may still commit
    update signalbox.stream_partition f
    set first_position = v_first
    where f.stream_id = v_stream.stream_id and f.partition = p and f.first_position < v_first;
  end loop;
end $$;
