-- drop_segments(): detach or drop a segment of the log that no retention needs, where upkeep runs by calls of upkeep()
-- alone. One action a call: bodies that are still needed are copied and the segment is detached; a later call drops it,
-- so that no lock on the whole log lasts longer than a moment. The segment is detached the plain way, and the call
-- hardly waits, since CONCURRENTLY cannot be used in a function; a segment that is in use is left for the next call.
-- Does nothing while a process keeps the claim floors: that process detaches segments without the lock. Returns what
-- was dropped.
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
        null; -- another transaction reads or writes it
    end;
  end loop;
  return '{}';
end $$;
