-- clean_up(): delete rows of the engine that are no longer read: aggregations and totals of ten minutes ago (never a
-- queue's latest), the record of what history was written, names of queues that were deleted a year ago, consumers
-- unseen for a day, stages that were never sent, and expired mailboxes and results of Celery. Summarizes BRIN indexes,
-- and makes missing dead-letter queues (make_dead_letter_queues). Returns how many rows.
create or replace function signalbox.clean_up() returns bigint
language plpgsql
set lock_timeout = '1s'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_deleted bigint := 0;
  v_rows bigint;
  v_recorded bigint;
  v_index regclass;
begin
  perform signalbox.make_dead_letter_queues();
  -- Keep the aggregation from which history continues (record_history).
  select coalesce(max(r.aggregation_id), 0) into v_recorded from signalbox.history_record r where r.step_seconds = 10;
  delete from signalbox.queue_stat s
  where s.aggregated_at < clock_timestamp() - interval '10 minutes'
    and (
      exists (
        select from signalbox.queue_stat n
        where n.queue_id = s.queue_id and n.aggregation_id > s.aggregation_id
          and (n.aggregation_id <= v_recorded or s.aggregation_id > v_recorded)
      )
      or not exists (select from signalbox.queue q where q.queue_id = s.queue_id) -- aggregated after it was deleted
    );
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  -- Lanes that have been empty for a minute leave no row.
  delete from signalbox.lane_stat s
  where s.waiting = 0 and s.under_way = 0 and s.aggregated_at < clock_timestamp() - interval '1 minute';
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  delete from signalbox.aggregation f
  where f.aggregated_at < clock_timestamp() - interval '10 minutes'
    and f.aggregation_id < (
      select max(n.aggregation_id)
      from signalbox.aggregation n
      where n.aggregated_at < clock_timestamp() - interval '5 minutes'
    );
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  -- Records of history, and history in default partitions; never rows that are not rolled up yet.
  delete from signalbox.history_record r
  using signalbox._history_steps() s
  where r.step_seconds = s.step_seconds and r.bucket_at < clock_timestamp() - s.kept - s.part - interval '1 hour'
    and not exists (
      select from signalbox.history_record n where n.step_seconds = r.step_seconds having max(n.bucket_at) = r.bucket_at
    );
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  delete from signalbox.queue_history_default h where h.bucket_at < clock_timestamp() - interval '3 hours';
  delete from signalbox.queue_history_minute_default h where h.bucket_at < clock_timestamp() - interval '2 days';
  delete from signalbox.queue_history_ten_minutes_default h where h.bucket_at < clock_timestamp() - interval '16 days';
  -- Rows in default partitions, and redrives to which no dead letter can refer any more.
  delete from signalbox.settled_default s
  where s.settled_at < clock_timestamp() - signalbox.history_kept()
    and s.txid < coalesce(signalbox._archived_below(), s.txid + 1);
  delete from signalbox.failure_default f
  where f.failed_at < clock_timestamp() - signalbox.history_kept()
    and f.txid < coalesce(signalbox._archived_below(), f.txid + 1);
  delete from signalbox.dedup_default d where d.expires_at < clock_timestamp();
  with gone as (
    delete from signalbox.redriven r
    where r.ctid = any(array(
      select o.ctid
      from signalbox.redriven o
      where o.redriven_at < clock_timestamp() - 2 * (
        select max(q.retention_seconds) from signalbox.queue q
      ) * interval '1 second'
      limit 10000
      for update skip locked
    ))
    returning r.message_id, r.dead_letter_id
  )
  delete from signalbox.rewritten w -- and the payloads that these redrives replaced
  using gone g
  where w.message_id = any(array[g.message_id]) and w.dead_letter_id = g.dead_letter_id;
  delete from signalbox.former_queue f where f.deleted_at < clock_timestamp() - interval '1 year';
  delete from signalbox.consumer c
  where c.ctid = any(array(
    select o.ctid from signalbox.consumer o where o.last_seen_at < clock_timestamp() - interval '1 day'
      for update skip locked
  ));
  get diagnostics v_rows = row_count;
  return v_deleted + v_rows + signalbox.expire_mailboxes() + signalbox.expire_results()
    + signalbox.forget_writes();
end $$;
