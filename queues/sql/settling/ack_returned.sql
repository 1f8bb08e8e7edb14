-- ack_returned(receipt_handle, receive_count): acknowledge a message whose lease has ended, if it is ready and was not
-- received again since that delivery, the receive_count-th. Returns whether it was. The SQS endpoint uses it to delete
-- from standard queues: no other consumer has the message. The nonce of a lease that has ended is not kept, so it is
-- not compared: a consumer that may receive from a queue may end its messages. Never waits. Looks among the first
-- c_tickets of each priority that became ready since the lease ended. Indexes: failure_message, claim_floor_queue,
-- ready_claim.
create or replace function signalbox.ack_returned(receipt_handle text, receive_count integer) returns boolean
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
  c_tickets constant integer := 1000;
  v_queue_id integer;
  v_message_id bigint;
  v_leased_at timestamptz;
  v_ended_at timestamptz;
  v_lane text;
begin
  perform signalbox._check_handles(array[ack_returned.receipt_handle]);
  v_queue_id := split_part(ack_returned.receipt_handle, '.', 1);
  v_message_id := split_part(ack_returned.receipt_handle, '.', 2);
  select f.leased_at, f.failed_at into v_leased_at, v_ended_at
  from signalbox.failure f
  where f.message_id = v_message_id and f.queue_id + 0 = v_queue_id and f.receive_count = ack_returned.receive_count
  order by f.failed_at desc
  limit 1;
  delete from signalbox.ready r
  where r.ctid = (
    select t.ctid
    from signalbox.ready t
    where t.ctid = any(array(
      select n.ctid
      from signalbox.claim_floor f
      cross join lateral (
        select c.ctid, c.message_id, c.receive_count
        from signalbox.ready c
        where c.queue_id = v_queue_id and c.priority = f.kind
          and c.ready_at >= greatest(signalbox.floor_time(f.floor), v_ended_at)
        order by c.ready_at, c.message_id
        limit c_tickets
      ) n
      where f.queue_id = v_queue_id and f.kind >= {priority.lowest}
        and n.message_id = v_message_id and n.receive_count = ack_returned.receive_count
    ))
    for update skip locked
  )
  returning r.lane into v_lane;
  if not found then
    return false;
  end if;
  -- Counted as in flight once more, since the row of history counts as an ack of a lease.
  insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.taken_back}, 1);
  insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms)
  values (
    v_queue_id, clock_timestamp(), array[v_message_id], array[ack_returned.receive_count::smallint],
    array[signalbox._work_ms(coalesce(v_leased_at, clock_timestamp()))]
  );
  if v_lane is not null then
    perform signalbox._leave_lanes(array[v_message_id]);
  end if;
  perform signalbox._release_keys_of(v_queue_id, array[v_message_id]);
  perform signalbox._forget_states(array[v_message_id]);
  return true;
end $$;
