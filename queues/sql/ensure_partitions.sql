-- ensure_partitions(): segments of the log for the next four million ids, days of history for a week, quarter days of
-- deduplication for one, the parts of queue history for now and what comes next. Also closes segments that are full, and
-- moves a segment that has been open for a day on to the next, so that quiet systems age out too. Returns what was made.
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
        exit; -- a sender that found none makes it in a transaction that is open: the next call comes in time
    end;
  end loop;
  -- Those that were jumped over or filled between two calls too, or they would never be sealed and dropped.
  insert into signalbox.segment (segment_number, opened_at)
  select p.segment_number, clock_timestamp()
  from (
    select substring(c.relname from '^message_(\d+)$')::bigint as segment_number
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'signalbox.message'::regclass
  ) p
  where p.segment_number <= v_number
  on conflict (segment_number) do nothing;
  update signalbox.segment s set sealed_at = clock_timestamp() where s.segment_number < v_number and s.sealed_at is null;
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
  end loop;
  for h in 0..3 loop
    v_at := date_bin('6 hours', clock_timestamp(), timestamptz '2000-01-01 00:00+00') + h * interval '6 hours';
    v_made := v_made || signalbox._ensure_period('dedup', v_at, v_at + interval '6 hours', 'YYYYMMDDHH24');
  end loop;
  -- A version that goes back to one table leaves these functions until its own are installed.
  for v_step in
    select s.* from signalbox._history_steps() s join pg_class c on c.oid = to_regclass('signalbox.' || s.table_name) and c.relkind = 'p'
  loop
    for n in 0..1 loop
      v_at := date_bin(v_step.part, clock_timestamp(), timestamptz '2000-01-01 00:00+00') + n * v_step.part;
      v_made := v_made || signalbox._ensure_period(v_step.table_name, v_at, v_at + v_step.part, 'YYYYMMDDHH24');
    end loop;
  end loop;
  return v_made;
end $$;

-- One period's partition, built apart and attached. Rows that came early into the default partition keep it there.
create or replace function signalbox._ensure_period(p_parent text, p_from timestamptz, p_to timestamptz, p_format text)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name text := p_parent || '_' || to_char(p_from at time zone 'UTC', p_format);
begin
  if to_regclass('signalbox.' || v_name) is not null then
    return '{}';
  end if;
  execute format('create table signalbox.%I (like signalbox.%I including defaults)', v_name, p_parent);
  perform signalbox._identify_partition(v_name, p_parent);
  execute format('alter table signalbox.%I attach partition signalbox.%I for values from (%L) to (%L)', p_parent, v_name, p_from, p_to);
  return array[v_name];
exception
  when check_violation or lock_not_available then
    return '{}';
end $$;

-- publish_log_end(): tell senders up to which id the log has segments. A call of its own, after the segments committed.
create or replace function signalbox.publish_log_end() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_end bigint;
begin
  if pg_current_xact_id_if_assigned() is not null then
    return pg_sequence_last_value('signalbox.log_end'::regclass);  -- what this transaction made may be rolled back
  end if;
  select max(substring(c.relname from '^message_(\d+)$')::bigint + 1) * 1000000
  into v_end
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'signalbox.message'::regclass;
  if v_end > coalesce(pg_sequence_last_value('signalbox.log_end'::regclass), 0) then
    perform setval('signalbox.log_end', v_end);
  end if;
  return v_end;
end $$;
