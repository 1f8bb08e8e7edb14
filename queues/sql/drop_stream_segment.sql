-- Retention of streams, in four steps that upkeep takes one after the other, each in a transaction of its own: which segments
-- are over (expired_stream_segments); tell readers that their messages are gone (leave_stream_segment); detach the segment
-- without a lock that anybody notices (upkeep, since CONCURRENTLY cannot be in a function); drop it (drop_stream_segment).
-- A group that has not read them holds nothing: it is told how many it lost.
create or replace function signalbox.expired_stream_segments()
returns table (stream_id integer, starts_at timestamptz, table_name text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select g.stream_id, g.starts_at, g.table_name
  from signalbox.stream_segment g
  join signalbox.stream s on s.stream_id = g.stream_id
  where g.leaving or g.ends_at < clock_timestamp() - s.retention_seconds * interval '1 second'
  order by g.stream_id, g.starts_at
$$;

-- Moves each partition's first position behind the segment: to the first message in a later one, or the end of what is settled.
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
  v_horizons := signalbox._horizons(v_stream.stream_id, v_stream.positions);
  for p in 0..v_stream.partitions - 1 loop
    execute format(
      'select m.position from signalbox.%I m where m.partition = $1::smallint and m.appended_at >= $2 order by m.position limit 1',
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

-- The last step, after the segment was detached: what is left of it goes.
create or replace function signalbox.drop_stream_segment(stream_id integer, starts_at timestamptz) returns void
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_name text;
begin
  delete from signalbox.stream_segment g
  where g.stream_id = drop_stream_segment.stream_id and g.starts_at = drop_stream_segment.starts_at and g.leaving
  returning g.table_name into v_name;
  if found then
    execute format('drop table signalbox.%I', v_name);
  end if;
end $$;
