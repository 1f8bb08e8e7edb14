-- record_history(): write one row of history for each queue that changed since the last call, for each tenant and for
-- all queues together: depths, since when the oldest message is visible, and the events in between. An idle queue gets
-- no row; when it changes again, one row records its state until then.
-- Buckets of ten seconds are kept for an hour, minutes for a day, ten minutes for two weeks. Events are the difference
-- of two aggregations, so each is counted once, however often and by whichever process this is called. Events of a time
-- without calls are in the next row, whose seconds say how long that was. Returns how many rows. The cost grows with
-- queues, never with messages. Indexes: queue_stat_pkey, queue_history_pkey.
create or replace function signalbox.record_history() returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bucket timestamptz;
  v_last signalbox.history_record;
  v_seconds integer;
  v_since bigint;
  v_through bigint;
  v_rows integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('record_history');
  end if;
  if not pg_try_advisory_xact_lock(hashtext('signalbox.history'), 0) then
    return null;
  end if;
  perform signalbox.aggregate_counters();
  v_bucket := date_bin('10 seconds', clock_timestamp(), timestamptz '2000-01-01 00:00+00');
  select * into v_last from signalbox.history_record r where r.step_seconds = 10
    order by r.aggregation_id desc, r.bucket_at desc limit 1;
  v_since := coalesce(v_last.aggregation_id, 0);
  v_through := (select f.aggregation_id from signalbox._last_aggregation() f);
  v_seconds := greatest(
    10,
    date_part(
      'epoch', v_bucket - coalesce(v_last.bucket_at, (select min(f.aggregated_at) from signalbox.aggregation f))
    )
  );
  insert into signalbox.history_record as r (step_seconds, bucket_at, seconds, aggregation_id)
  values (10, v_bucket, v_seconds, v_through)
  on conflict (step_seconds, bucket_at) do update set aggregation_id = excluded.aggregation_id;
  v_rows := signalbox._record_since(v_bucket, v_seconds, v_since, v_through);
  perform signalbox._roll_up_history(10);
  perform signalbox._roll_up_history(60);
  return v_rows;
end $$;
