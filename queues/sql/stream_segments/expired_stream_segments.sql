-- expired_stream_segments(): segments of streams whose retention is over: they are older than retention_seconds, or the
-- later segments alone have retention_bytes or retention_messages (0: no limit). The segment that is being written
-- stays, and one that the archive or compaction needs (_archive_needs_segment, _compaction_needs_segment). Retention
-- has four steps, which upkeep takes one after the other, each in a transaction of its own: find the segments
-- (expired_stream_segments); move first positions, so that readers know that the messages are gone
-- (leave_stream_segment); detach the segment without a lock that others notice (upkeep, since CONCURRENTLY cannot be
-- used in a function); drop it (drop_stream_segment). A group that has not read the messages holds nothing back: it
-- learns how many it lost. Reads no messages: sizes of files, and one probe for each partition and segment.
create or replace function signalbox.expired_stream_segments()
returns table (stream_id integer, starts_at timestamptz, table_name text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select g.stream_id, g.starts_at, g.table_name
  from (
    select g.*, g as segment, s.retention_seconds, s.retention_bytes, s.retention_messages, s.compaction, s as stream,
      sum(case when s.retention_bytes > 0 then signalbox._segment_bytes(g.table_name) end) over (
        partition by g.stream_id order by g.starts_at rows between 1 following and unbounded following
      ) as later_bytes
    from signalbox.stream_segment g
    join signalbox.stream s on s.stream_id = g.stream_id
  ) g
  where g.leaving
    or (
      g.ends_at < clock_timestamp() - g.retention_seconds * interval '1 second'
      or g.ends_at < clock_timestamp() and (
        g.later_bytes >= g.retention_bytes
        or case when g.retention_messages > 0 then
          signalbox._positions_after(g.stream, g.ends_at) >= g.retention_messages
        end
      )
    )
    and not signalbox._archive_needs_segment(g.stream_id, g.table_name)
    and not case when g.compaction then signalbox._compaction_needs_segment(g.segment) else false end
  order by g.stream_id, g.starts_at
$$;
