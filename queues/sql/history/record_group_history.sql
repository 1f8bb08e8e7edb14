-- record_group_history(): record how far each consumer group has read, for charts: every ten seconds, and rolled up
-- into minutes and ten minutes when their time is over. Rolling up keeps the highest lag. The cost grows with consumer
-- groups, never with messages; without a group it is one probe. Returns how many rows.
create or replace function signalbox.record_group_history() returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step record;
  v_bucket timestamptz;
  v_rows integer;
begin
  if not exists (select from signalbox.consumer_group) then
    return 0;
  end if;
  for v_step in select * from signalbox._group_history_steps() loop
    for n in 0..1 loop
      v_bucket := date_bin(v_step.part, clock_timestamp(), timestamptz '2000-01-01 00:00+00') + n * v_step.part;
      perform signalbox._ensure_period(v_step.table_name, v_bucket, v_bucket + v_step.part, 'YYYYMMDDHH24');
    end loop;
  end loop;
  insert into signalbox.group_history as h (group_id, bucket_at, lag_messages, lag_seconds, members, committed, lost)
  select n.group_id, date_bin('10 seconds', clock_timestamp(), timestamptz '2000-01-01 00:00+00'),
    n.lag_messages, n.lag_seconds, n.members, n.committed, n.lost
  from signalbox.group_numbers() n
  on conflict (group_id, bucket_at) do update
  set lag_messages = greatest(h.lag_messages, excluded.lag_messages),
  lag_seconds = greatest(h.lag_seconds, excluded.lag_seconds),
    members = excluded.members, committed = excluded.committed, lost = excluded.lost;
  get diagnostics v_rows = row_count;
  for v_step in select * from signalbox._group_history_steps() s where s.finer is not null order by s.seconds loop
    v_bucket := date_bin(v_step.seconds * interval '1 second', clock_timestamp(), timestamptz '2000-01-01 00:00+00')
      - v_step.seconds * interval '1 second';
    execute format($sql$
      insert into signalbox.%I (group_id, bucket_at, lag_messages, lag_seconds, members, committed, lost)
      select h.group_id, $1, max(h.lag_messages), max(h.lag_seconds), max(h.members), max(h.committed), max(h.lost)
      from signalbox.%I h
      where h.bucket_at >= $1 and h.bucket_at < $2
        and not exists (select from signalbox.%I k where k.group_id = h.group_id and k.bucket_at = $1)
      group by h.group_id
      on conflict (group_id, bucket_at) do nothing
    $sql$, v_step.table_name, v_step.finer, v_step.table_name)
    using v_bucket, v_bucket + v_step.seconds * interval '1 second';
  end loop;
  return v_rows;
end $$;
