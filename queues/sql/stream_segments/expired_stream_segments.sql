-- expired_stream_segments(): segments of streams whose retention is over. Retention has four steps, which upkeep takes
-- one after the other, each in a transaction of its own: find the segments (expired_stream_segments); move first
-- positions, so that readers know that the messages are gone (leave_stream_segment); detach the segment without a lock
-- that others notice (upkeep, since CONCURRENTLY cannot be used in a function); drop it (drop_stream_segment). A group
-- that has not read the messages holds nothing back: it learns how many it lost.
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
