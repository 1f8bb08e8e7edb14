-- drop_stream_segments(): detach or drop a segment of a stream that no retention needs, as drop_segments does for the
-- log: one call moves the first positions, so that readers know, the next detaches the segment, and a third drops it.
-- Returns what was dropped.
create or replace function signalbox.drop_stream_segments() returns text[]
language plpgsql
set lock_timeout = '100ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_segment record;
begin
  if signalbox._is_led() or not pg_try_advisory_xact_lock(hashtext('signalbox.drop_segments'), 1) then
    return '{}';
  end if;
  for v_segment in
    select e.stream_id, e.starts_at, e.table_name, g.leaving
    from signalbox.expired_stream_segments() e
    join signalbox.stream_segment g on g.stream_id = e.stream_id and g.starts_at = e.starts_at
  loop
    begin
      if not v_segment.leaving then
        perform signalbox.leave_stream_segment(v_segment.stream_id, v_segment.starts_at);
        return '{}';
      end if;
      if signalbox._is_attached(v_segment.table_name) then
        perform signalbox._detach('stream_message_' || v_segment.stream_id, v_segment.table_name);
        return '{}';
      end if;
      perform signalbox.drop_stream_segment(v_segment.stream_id, v_segment.starts_at);
      return case when to_regclass(format('signalbox.%I', v_segment.table_name)) is null
        then array[v_segment.table_name] else '{}'::text[] end;
    exception
      when lock_not_available or object_in_use then
        null;
    end;
  end loop;
  return '{}';
end $$;
