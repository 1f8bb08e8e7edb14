-- ensure_stream_segments(): make segments of every stream for the current period and the next two. Each is a table that
-- is built separately and attached, which neither appenders nor readers notice. Returns what was made. Without upkeep
-- an appender that finds no segment makes it, and others wait for that appender until it commits.
create or replace function signalbox.ensure_stream_segments() returns text[]
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stream_id integer;
  v_made text[] := '{}';
begin
  for v_stream_id in
    select s.stream_id
    from signalbox.stream s
    where s.segments_until < clock_timestamp() + signalbox._segment_length(s.retention_seconds)
    order by s.stream_id
  loop
    begin
      v_made := v_made || signalbox._ensure_stream_segments(v_stream_id);
    exception
      when lock_not_available then
        null; -- an appender is at it, or the table is held: the next call comes in time
    end;
  end loop;
  return v_made;
end $$;
