-- defer(receipt_handle, delay_seconds, state): put a message off: it is delivered again after delay_seconds, and the
-- next delivery receives state (at most 16 KB of JSON, null keeps the earlier one). The delivery counts neither as a
-- failure nor towards max_receives, however often a message is deferred. In a FIFO queue its group waits until then.
-- Returns when the message is due, or null when the lease is no longer held. Index: lease_pkey.
create or replace function signalbox.defer(
  receipt_handle text, delay_seconds double precision, state jsonb default null
) returns timestamptz
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_lease signalbox.lease;
  v_due_at timestamptz;
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  perform signalbox._check_handles(array[defer.receipt_handle]);
  if (defer.delay_seconds between 0 and 31536000) is not true then
    perform signalbox._refuse(
      'delay_seconds',
      format('is %s: it must be from 0 to 31536000 (a year)', coalesce(defer.delay_seconds::text, 'null'))
    );
  end if;
  if defer.state is not null then
    perform signalbox._check_state(defer.state);
  end if;

  delete from signalbox.lease l
  where l.message_id = split_part(defer.receipt_handle, '.', 2)::bigint
    and l.nonce = split_part(defer.receipt_handle, '.', 3)::uuid
    and l.queue_id = split_part(defer.receipt_handle, '.', 1)::integer
  returning * into v_lease;
  if not found then
    perform signalbox._refuse_older_snapshot('defer');
    return null;
  end if;
  v_due_at := greatest(clock_timestamp() + defer.delay_seconds * interval '1 second', signalbox.clock_time());
  perform signalbox._note_deferral(v_lease, v_due_at, defer.state);
  insert into signalbox.counter_delta (queue_id, event, amount) values (v_lease.queue_id, {event.deferred}, 1);
  insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id, lane)
  values (
    v_lease.queue_id, v_lease.priority, least(v_lease.receive_count, 32766), v_due_at, v_lease.message_id, v_lease.lane
  );
  if v_lease.lane is not null and not exists (
    select from signalbox.queue q where q.queue_id = v_lease.queue_id and q.mode = 'fifo'
  ) then
    perform signalbox._leave_lanes(array[v_lease.message_id]); -- a FIFO group waits for its first; others go on
  end if;
  return v_due_at;
end $$;
