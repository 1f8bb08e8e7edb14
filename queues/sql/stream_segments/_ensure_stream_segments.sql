-- Make the segments of a stream that are due. With the owner's rights, as _make_segment: an appender must not fail
-- while no upkeep runs.
create or replace function signalbox._ensure_stream_segments(p_stream_id integer) returns text[]
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_stream signalbox.stream;
  v_length interval;
  v_from timestamptz;
  v_to timestamptz;
  v_name text;
  v_made text[] := '{}';
begin
  perform pg_advisory_xact_lock(hashtext('signalbox.stream_segments'), p_stream_id);
  select * into v_stream from signalbox.stream s where s.stream_id = p_stream_id;
  v_length := signalbox._segment_length(v_stream.retention_seconds);
  v_to := greatest(v_stream.segments_until, date_bin(v_length, clock_timestamp(), timestamptz '2000-01-01 00:00+00'));
  while v_to <= clock_timestamp() + v_length loop
    v_from := v_to;
    v_to := v_from + v_length;
    v_name := format('stream_message_%s_%s', p_stream_id, to_char(v_from at time zone 'UTC', 'YYYYMMDDHH24MISS'));
    execute format('create table signalbox.%I (like signalbox.stream_message including defaults)', v_name);
    execute format('alter table signalbox.%I add primary key (partition, position)', v_name);
    perform signalbox._identify_partition(v_name, 'stream_message_' || p_stream_id);
    execute format(
      'alter table signalbox.%I attach partition signalbox.%I for values from (%L) to (%L)',
      'stream_message_' || p_stream_id, v_name, v_from, v_to
    );
    insert into signalbox.stream_segment (stream_id, starts_at, ends_at, table_name)
      values (p_stream_id, v_from, v_to, v_name);
    v_made := v_made || v_name;
  end loop;
  update signalbox.stream s set segments_until = v_to where s.stream_id = p_stream_id and s.segments_until < v_to;
  return v_made;
end $$;
revoke execute on function signalbox._ensure_stream_segments(integer) from public;
