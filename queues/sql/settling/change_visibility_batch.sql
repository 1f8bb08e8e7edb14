-- change_visibility_batch(receipt_handles, seconds): change_visibility for many messages at once, a worker's heartbeat.
-- Returns every handle in the order given with its new deadline, null where the lease is no longer held. Locks the
-- leases in order of message id. Index: lease_pkey, in words that rule out every other plan (see ack).
create or replace function signalbox.change_visibility_batch(receipt_handles text[], seconds double precision)
returns table (receipt_handle text, deadline timestamptz)
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
  v_held text[];
  v_deadline timestamptz;
begin
  change_visibility_batch.receipt_handles := signalbox._as_list(
    'receipt_handles', change_visibility_batch.receipt_handles
  );
  perform signalbox._check_handles(change_visibility_batch.receipt_handles);
  if change_visibility_batch.seconds is null or not change_visibility_batch.seconds between 0 and 43200 then
    perform signalbox._refuse(
      'seconds', format('is %s: it must be from 0 to 43200', coalesce(change_visibility_batch.seconds::text, 'null'))
    );
  end if;
  if change_visibility_batch.seconds > 0 then
    with given as materialized (
      select h as handle, split_part(h, '.', 1)::integer as queue_id, split_part(h, '.', 2)::bigint as message_id,
        split_part(h, '.', 3)::uuid as nonce
      from unnest(change_visibility_batch.receipt_handles) h
      order by 3
    ), moment as materialized (
      select greatest(
        clock_timestamp() + change_visibility_batch.seconds * interval '1 second', signalbox.clock_time()
      ) as deadline
    ), extended as (
      update signalbox.lease l
      set deadline = m.deadline
      from moment m, given g
      where l.message_id = any(array[g.message_id]) and l.nonce = g.nonce and l.queue_id + 0 = g.queue_id
      returning g.handle, l.deadline
    )
    select array_agg(e.handle), max(e.deadline) into v_held, v_deadline from extended e;
  else
    with given as materialized (
      select h as handle, split_part(h, '.', 1)::integer as queue_id, split_part(h, '.', 2)::bigint as message_id,
        split_part(h, '.', 3)::uuid as nonce
      from unnest(change_visibility_batch.receipt_handles) h
      order by 3
    ), returned as (
      delete from signalbox.lease l
      using given g
      where l.message_id = any(array[g.message_id]) and l.nonce = g.nonce and l.queue_id + 0 = g.queue_id
      returning g.handle, l.queue_id, l.priority, l.receive_count, l.message_id, l.lane
    ), moment as materialized (
      select signalbox.clock_time() as at
    ), readied as (
      insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
      select r.queue_id, r.priority, r.receive_count, m.at, r.message_id, r.lane
      from moment m, returned r
      where case when r.lane is null then true else not signalbox._returns_to_group(
        r.queue_id, r.lane, r.priority, r.receive_count, r.message_id
      ) end
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount)
      select r.queue_id, {event.returned}, count(*) from returned r group by r.queue_id
    )
    select array_agg(r.handle), max(m.at) into v_held, v_deadline from returned r, moment m;
  end if;
  if not change_visibility_batch.receipt_handles <@ coalesce(v_held, '{}') then
    perform signalbox._refuse_older_snapshot('change_visibility');
  end if;
  return query
  select h, case when h = any(v_held) then v_deadline end
  from unnest(change_visibility_batch.receipt_handles) h;
end $$;
