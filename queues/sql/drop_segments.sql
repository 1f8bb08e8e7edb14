-- drop_segments(), drop_stream_segments(): what manage.py upkeep does to the segments of the log, and of streams, that no retention needs,
-- where upkeep runs by calls of upkeep() alone. One action a call: first what needs the messages is told or copied and the
-- segment detached, and in a later call it is dropped, so that no lock on the whole log is held for longer than a moment.
-- Here a segment is detached the plain way, with hardly any patience, since CONCURRENTLY cannot be in a function; one that is in
-- use is left for the next call. Nothing is done while a process keeps the floors: that does this itself, without the lock.
-- Returns what was dropped.
create or replace function signalbox.drop_segments() returns text[]
language plpgsql
set lock_timeout = '100ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_number bigint;
begin
  if signalbox._is_led() or not pg_try_advisory_xact_lock(hashtext('signalbox.drop_segments'), 0) then
    return '{}';
  end if;
  for v_number in select signalbox.expired_segments() loop
    begin
      if signalbox._is_attached('message_' || v_number) then
        perform signalbox.keep_live_bodies(v_number);
        perform signalbox._detach('message', 'message_' || v_number);
        return '{}';
      end if;
      perform signalbox.drop_segment(v_number);
      return array['message_' || v_number];
    exception
      when lock_not_available or object_in_use then
        null; -- somebody reads or writes it
    end;
  end loop;
  return '{}';
end $$;

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
      return array[v_segment.table_name];
    exception
      when lock_not_available or object_in_use then
        null;
    end;
  end loop;
  return '{}';
end $$;

-- Does a process keep the floors at this moment? A term that ends much later was written by a clock that was ahead.
create or replace function signalbox._is_led() returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
    from signalbox.upkeep_leader l
    where l.expires_at > clock_timestamp() and l.expires_at < clock_timestamp() + interval '1 minute'
  )
$$;

create or replace function signalbox._is_attached(p_name text) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where c.relname = p_name and c.relnamespace = 'signalbox'::regnamespace
  )
$$;

-- Detach a partition, or finish what was begun concurrently.
create or replace function signalbox._detach(p_parent text, p_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_begun boolean;
begin
  select i.inhdetachpending into v_begun from pg_inherits i where i.inhrelid = format('signalbox.%I', p_name)::regclass;
  execute format(
    'alter table signalbox.%I detach partition signalbox.%I %s', p_parent, p_name, case when v_begun then 'finalize' else '' end
  );
end $$;
