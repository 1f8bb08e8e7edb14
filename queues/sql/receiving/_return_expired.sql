-- Return messages whose lease has expired: they can be received at once, or are dead when their deliveries are used up.
-- Bounded, SKIP LOCKED: an open extension or ack wins, and two callers share the work. Index: lease_deadline.
create or replace function signalbox._return_expired(p_queue_id integer, p_floor timestamptz, p_limit integer)
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp(); -- a constant is an index condition; the volatile function is a filter
  v_expired signalbox.lease[];
  v_dead signalbox.lease[];
  v_live signalbox.lease[];
begin
  with expired as (
    delete from signalbox.lease l
    where l.ctid = any(array(
      select c.ctid
      from signalbox.lease c
      where c.queue_id = p_queue_id and c.deadline >= p_floor and c.deadline <= v_now
      order by c.deadline
      limit p_limit
      for update skip locked
    ))
    returning l.*
  )
  select array_agg(e.* order by e.message_id) into v_expired from expired e;
  if v_expired is null then
    return 0;
  end if;
  select array_agg(e) filter (where u.used_up), array_agg(e) filter (where not u.used_up)
  into v_dead, v_live
  from unnest(v_expired) e, signalbox.queue q, lateral (
    select coalesce(
      (select o.max_receives from signalbox.message_limit o where o.message_id = any(array[e.message_id])),
      q.max_receives
    ) as most
  ) l, lateral (
    select case when e.receive_count < l.most then false
      else signalbox._counted_receives(e.message_id, e.receive_count) >= l.most end as used_up
  ) u
  where q.queue_id = p_queue_id;
  if v_dead is not null then
    perform signalbox._dead_letter(
      p_queue_id, v_dead, 'lock_expired', 'LeaseExpired',
      'The consumer neither finished nor extended its lease in time.', null
    );
  end if;
  if v_live is not null then
    insert into signalbox.failure (
      queue_id, message_id, receive_count, leased_at, failed_at, retry_at, reason, error_class, error, fingerprint,
      consumer
    )
    select p_queue_id, e.message_id, e.receive_count, e.leased_at, clock_timestamp(), clock_timestamp(),
      'lock_expired', 'LeaseExpired', 'The consumer neither finished nor extended its lease in time.',
      signalbox.fingerprint('lock_expired', 'LeaseExpired', null), e.consumer
    from unnest(v_live) e;
    with counted as (
      insert into signalbox.counter_delta (queue_id, event, amount)
        values (p_queue_id, {event.lease_expired}, cardinality(v_live))
    )
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
    select p_queue_id, e.priority, e.receive_count, signalbox.clock_time(), e.message_id, e.lane
    from unnest(v_live) e
    where case when e.lane is null then true else not signalbox._returns_to_group(
      p_queue_id, e.lane, e.priority, e.receive_count, e.message_id
    ) end;
  end if;
  return cardinality(v_expired);
end $$;
