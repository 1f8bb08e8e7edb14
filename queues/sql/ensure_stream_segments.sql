-- ensure_stream_segments(): segments for every stream for the time that is now and the two that come. Each is a table built
-- apart and attached, which neither appenders nor readers notice. Returns what was made. Without upkeep an appender that
-- finds none makes it, and others wait for that one until it commits.
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

-- An eighth of the retention: what a stream holds beyond its retention is never more.
create or replace function signalbox._segment_length(p_retention_seconds double precision) returns interval
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select least(greatest(round(p_retention_seconds / 8), 60), 86400) * interval '1 second'
$$;

-- With the owner's rights, as _make_segment: an appender that finds upkeep gone must not fail. It makes what time asks for, no more.
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
      'alter table signalbox.%I attach partition signalbox.%I for values from (%L) to (%L)', 'stream_message_' || p_stream_id, v_name, v_from, v_to
    );
    insert into signalbox.stream_segment (stream_id, starts_at, ends_at, table_name) values (p_stream_id, v_from, v_to, v_name);
    v_made := v_made || v_name;
  end loop;
  update signalbox.stream s set segments_until = v_to where s.stream_id = p_stream_id and s.segments_until < v_to;
  return v_made;
end $$;
revoke execute on function signalbox._ensure_stream_segments(integer) from public;
