-- nack(receipt_handle, ...): report that the work failed. Records the failure and schedules another delivery after
-- delay_seconds (null: exponential backoff with jitter, by the queue's settings), or makes the message a dead letter
-- when its deliveries are used up (by its own limit or the queue's) or the reason is 'rejected'. In a FIFO queue its
-- group waits until then. The next delivery receives state (at most 16 KB of JSON), which stays until another replaces
-- it. Returns 'retry', 'dead', or null when the lease is no longer held. Index: lease_pkey.
create or replace function signalbox.nack(
  receipt_handle text,
  delay_seconds double precision default null,
  error_class text default null,
  error text default null,
  details text default null,
  reason text default 'runtime_error',
  state jsonb default null
) returns text
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
  v_queue record;
  v_delay double precision;
  v_counted integer;
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  perform signalbox._check_handles(array[nack.receipt_handle]);
  if nack.reason is null or nack.reason not in ('rejected', 'runtime_error', 'lock_expired') then
    perform signalbox._refuse(
      'reason', format(
        'is %s: it must be rejected, runtime_error or lock_expired',
        coalesce(quote_literal(left(nack.reason, 80)), 'null')
      )
    );
  end if;
  if nack.delay_seconds is not null and not nack.delay_seconds between 0 and 31536000 then
    perform signalbox._refuse(
      'delay_seconds', format('is %s: it must be from 0 to 31536000 (a year)', nack.delay_seconds)
    );
  end if;
  if nack.state is not null then
    perform signalbox._check_state(nack.state);
  end if;

  delete from signalbox.lease l
  where l.message_id = split_part(nack.receipt_handle, '.', 2)::bigint
    and l.nonce = split_part(nack.receipt_handle, '.', 3)::uuid
    and l.queue_id = split_part(nack.receipt_handle, '.', 1)::integer
  returning * into v_lease;
  if not found then
    perform signalbox._refuse_older_snapshot('nack');
    return null;
  end if;
  if nack.state is not null then
    perform signalbox._keep_state(v_lease.queue_id, v_lease.message_id, nack.state);
  end if;

  select coalesce(o.max_receives, q.max_receives) as max_receives, q.backoff_base_seconds, q.backoff_cap_seconds,
    q.jitter, q.mode
  into v_queue
  from signalbox.queue q
  left join signalbox.message_limit o on o.message_id = v_lease.message_id
  where q.queue_id = v_lease.queue_id;
  v_counted := v_lease.receive_count;
  if v_counted > 1 then
    v_counted := signalbox._counted_receives(v_lease.message_id, v_counted);
  end if;
  if nack.reason = 'rejected' or v_counted >= v_queue.max_receives then
    perform signalbox._dead_letter(
      v_lease.queue_id, array[v_lease], nack.reason,
      left(nack.error_class, 200), left(nack.error, 10000), left(nack.details, 65536)
    );
    return 'dead';
  end if;

  v_delay := coalesce(
    nack.delay_seconds,
    signalbox.backoff_seconds(
      v_counted, v_queue.backoff_base_seconds, v_queue.backoff_cap_seconds, v_queue.jitter
    )
  );
  insert into signalbox.failure (
    queue_id, message_id, receive_count, leased_at, failed_at, retry_at, reason, error_class, error, details,
    fingerprint, consumer
  )
  values (
    v_lease.queue_id, v_lease.message_id, v_lease.receive_count, v_lease.leased_at, clock_timestamp(),
    clock_timestamp() + v_delay * interval '1 second', nack.reason,
    left(nack.error_class, 200), left(nack.error, 10000), left(nack.details, 65536),
    signalbox.fingerprint(nack.reason, left(nack.error_class, 200), left(nack.error, 10000), left(nack.details, 65536)),
    v_lease.consumer
  );
  if v_delay > 0 then
    with counted as (
      insert into signalbox.counter_delta (queue_id, event, amount)
        values (v_lease.queue_id, {event.nacked_scheduled}, 1)
    )
    insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id, lane)
    select v_lease.queue_id, v_lease.priority, v_lease.receive_count,
      greatest(clock_timestamp() + v_delay * interval '1 second', signalbox.clock_time()), v_lease.message_id,
      v_lease.lane;
    if v_lease.lane is not null and v_queue.mode <> 'fifo' then
      perform signalbox._leave_lanes(array[v_lease.message_id]); -- a FIFO group waits for its first; others go on
    end if;
  else
    with counted as (
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_lease.queue_id, {event.nacked_ready}, 1)
    )
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
    select v_lease.queue_id, v_lease.priority, v_lease.receive_count, signalbox.clock_time(), v_lease.message_id,
      v_lease.lane
    where case when v_lease.lane is null then true else not signalbox._returns_to_group(
      v_lease.queue_id, v_lease.lane, v_lease.priority, v_lease.receive_count, v_lease.message_id
    ) end;
  end if;
  return 'retry';
end $$;
