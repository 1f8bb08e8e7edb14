-- clean_up(): rows of the engine's own that nobody reads any longer: folds and totals of ten minutes ago (never a queue's
-- latest), what says which history was recorded, names of queues deleted a year ago, consumers unseen for a day, what was staged
-- and never sent; and BRIN summaries brought up to date. Makes the dead-letter queues that are missing (make_dead_letter_queues).
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
  -- Nor that from which history counts on (record_history).
  select coalesce(max(r.fold_id), 0) into v_recorded from signalbox.history_record r where r.step_seconds = 10;
  delete from signalbox.queue_stat s
  where s.folded_at < clock_timestamp() - interval '10 minutes'
    and (
      exists (
        select from signalbox.queue_stat n
        where n.queue_id = s.queue_id and n.fold_id > s.fold_id and (n.fold_id <= v_recorded or s.fold_id > v_recorded)
      )
      or not exists (select from signalbox.queue q where q.queue_id = s.queue_id) -- folded after it was deleted
    );
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  -- Lanes that have been empty for a minute leave no row.
  delete from signalbox.lane_stat s
  where s.waiting = 0 and s.under_way = 0 and s.folded_at < clock_timestamp() - interval '1 minute';
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  delete from signalbox.fold f
  where f.folded_at < clock_timestamp() - interval '10 minutes'
    and f.fold_id < (select max(n.fold_id) from signalbox.fold n where n.folded_at < clock_timestamp() - interval '5 minutes');
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  -- What was recorded when, and history from before its time had a partition; never what is not added up yet.
  delete from signalbox.history_record r
  using signalbox._history_steps() s
  where r.step_seconds = s.step_seconds and r.bucket_at < clock_timestamp() - s.kept - s.part - interval '1 hour'
    and not exists (select from signalbox.history_record n where n.step_seconds = r.step_seconds having max(n.bucket_at) = r.bucket_at);
  get diagnostics v_rows = row_count;
  v_deleted := v_deleted + v_rows;
  delete from signalbox.queue_history_default h where h.bucket_at < clock_timestamp() - interval '3 hours';
  delete from signalbox.queue_history_minute_default h where h.bucket_at < clock_timestamp() - interval '2 days';
  delete from signalbox.queue_history_ten_minutes_default h where h.bucket_at < clock_timestamp() - interval '16 days';
  -- What came before its day had a partition, and the trace of redrives that no dead letter can still ask for.
  delete from signalbox.settled_default s
  where s.settled_at < clock_timestamp() - signalbox.history_kept() and s.txid < coalesce(signalbox._archived_below(), s.txid + 1);
  delete from signalbox.failure_default f
  where f.failed_at < clock_timestamp() - signalbox.history_kept() and f.txid < coalesce(signalbox._archived_below(), f.txid + 1);
  delete from signalbox.dedup_default d where d.expires_at < clock_timestamp();
  with gone as (
    delete from signalbox.redriven r
    where r.ctid = any(array(
      select o.ctid
      from signalbox.redriven o
      where o.redriven_at < clock_timestamp() - 2 * (select max(q.retention_seconds) from signalbox.queue q) * interval '1 second'
      limit 10000
      for update skip locked
    ))
    returning r.message_id, r.dead_letter_id
  )
  delete from signalbox.rewritten w -- and what redrives rewrote
  using gone g
  where w.message_id = any(array[g.message_id]) and w.dead_letter_id = g.dead_letter_id;
  delete from signalbox.former_queue f where f.deleted_at < clock_timestamp() - interval '1 year';
  delete from signalbox.consumer c
  where c.ctid = any(array(
    select o.ctid from signalbox.consumer o where o.last_seen_at < clock_timestamp() - interval '1 day' for update skip locked
  ));
  get diagnostics v_rows = row_count;
  return v_deleted + v_rows + signalbox.expire_mailboxes() + signalbox.forget_writes();
end $$;

-- empty_deltas(): TRUNCATE the slots of the ring whose deltas were all folded at least a minute ago (so that no reader
-- under way still counts on them). Takes the slot's lock first and never waits for it; the slot in use is left alone.
create or replace function signalbox.empty_deltas() returns integer
language plpgsql
set lock_timeout = '50ms'
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slot integer;
  v_current integer := date_part('epoch', clock_timestamp())::bigint / 60 % 4;
  v_fold record;
  v_uncovered boolean;
  v_emptied integer := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('empty_deltas');
  end if;
  select pg_snapshot_xmin(f.snapshot)::text::bigint as xmin, pg_snapshot_xmax(f.snapshot)::text::bigint as xmax,
    array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x) as xip
  into v_fold
  from signalbox.fold f
  where f.folded_at < clock_timestamp() - interval '60 seconds'
  order by f.fold_id desc
  limit 1;
  if not found then
    return 0;
  end if;
  for v_slot in 0..3 loop
    continue when v_slot in (v_current, (v_current + 1) % 4);
    continue when pg_relation_size(format('signalbox.counter_delta_%s', v_slot)::regclass) = 0;
    begin
      execute format('lock table signalbox.counter_delta_%s in access exclusive mode', v_slot);
      execute format(
        'select exists (select from signalbox.counter_delta_%s d where d.txid >= $1 and (d.txid >= $2 or d.txid = any($3)))', v_slot
      ) into v_uncovered using v_fold.xmin, v_fold.xmax, v_fold.xip;
      if not v_uncovered then
        -- A gauge's mark of that time can no longer be told what came after it (_evaluate).
        perform setval(g.mark_xid, -1) from signalbox.gauge g where signalbox._register(g.mark_xid) between 1 and v_fold.xmax;
        execute format('truncate signalbox.counter_delta_%s', v_slot);
        v_emptied := v_emptied + 1;
      end if;
    exception
      when lock_not_available then
        null;
    end;
  end loop;
  return v_emptied;
end $$;
