-- ensure_partitions(): make segments of the log for the next four million ids, days of history and of the inbox for a
-- week, quarter days of deduplication for one day, and the parts of queue history for now and next. Closes segments
-- that are full, and moves on from a segment that has been open for a day, so that quiet systems age out too. Returns
-- what was made.
create or replace function signalbox.ensure_partitions() returns text[]
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  c_segment_ids constant bigint := 1000000;
  c_segments_ahead constant integer := 4;
  v_last bigint;
  v_number bigint;
  v_made text[] := '{}';
  v_at timestamptz;
  v_step record;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.partitions'), 0) then
    return null;
  end if;
  v_last := coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_number := greatest(v_last - 1, 0) / c_segment_ids;
  for n in v_number..v_number + c_segments_ahead loop
    begin
      if signalbox._ensure_segment(n * c_segment_ids + 1) then
        v_made := v_made || ('message_' || n);
      end if;
    exception
      when lock_not_available then
        exit; -- a sender makes it in an open transaction: the next call is early enough
    end;
  end loop;
  -- Also segments that were skipped or filled between two calls: otherwise they are never sealed and dropped.
  insert into signalbox.segment (segment_number, opened_at)
  select p.segment_number, clock_timestamp()
  from signalbox._segments() p (segment_number)
  where p.segment_number <= v_number
  on conflict (segment_number) do nothing;
  update signalbox.segment s set sealed_at = clock_timestamp() where s.segment_number < v_number
    and s.sealed_at is null;
  -- Two segments on, never near a boundary, so that no id drawn at this moment can be drawn again.
  perform setval('signalbox.message_id', greatest(
    (v_number + 2) * c_segment_ids, pg_sequence_last_value('signalbox.message_id'::regclass)
  ))
  from signalbox.segment s
  where s.segment_number = v_number
    and s.opened_at < clock_timestamp() - interval '1 day'
    and v_last > v_number * c_segment_ids + 1;

  for d in -1..7 loop
    v_at := date_trunc('day', clock_timestamp(), 'UTC') + d * interval '1 day';
    v_made := v_made || signalbox._ensure_period('settled', v_at, v_at + interval '1 day', 'YYYYMMDD');
    v_made := v_made || signalbox._ensure_period('failure', v_at, v_at + interval '1 day', 'YYYYMMDD');
    v_made := v_made || signalbox._ensure_period('deferral', v_at, v_at + interval '1 day', 'YYYYMMDD');
    v_made := v_made || signalbox._ensure_period('inbox', v_at, v_at + interval '1 day', 'YYYYMMDD');
  end loop;
  for h in 0..3 loop
    v_at := date_bin('6 hours', clock_timestamp(), timestamptz '2000-01-01 00:00+00') + h * interval '6 hours';
    v_made := v_made || signalbox._ensure_period('dedup', v_at, v_at + interval '6 hours', 'YYYYMMDDHH24');
    v_made := v_made || signalbox._ensure_period('stream_dedup', v_at, v_at + interval '6 hours', 'YYYYMMDDHH24');
  end loop;
  -- After a migration back to a release without these partitions, its functions are not installed yet.
  for v_step in
    select s.* from signalbox._history_steps() s join pg_class c on c.oid = to_regclass('signalbox.' || s.table_name)
      and c.relkind = 'p'
  loop
    for n in 0..1 loop
      v_at := date_bin(v_step.part, clock_timestamp(), timestamptz '2000-01-01 00:00+00') + n * v_step.part;
      v_made := v_made || signalbox._ensure_period(v_step.table_name, v_at, v_at + v_step.part, 'YYYYMMDDHH24');
    end loop;
  end loop;
  return v_made;
end $$;
