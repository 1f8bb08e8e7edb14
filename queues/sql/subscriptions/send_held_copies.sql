-- send_held_copies(subscription_id): send the oldest held copies of one subscription, at most 1000, in one transaction.
-- Copies that were held for longer than the target keeps messages expire first, and the subscription counts them. Where
-- the target has no room for all, a quarter is tried, then a quarter of that. Returns how many were sent. An obstacle
-- stops only this subscription. Index: held_copy_pkey.
create or replace function signalbox.send_held_copies(subscription_id integer) returns bigint
language plpgsql
set lock_timeout = '100ms'
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_edge record;
  v_copies signalbox.held_copy[];
  v_limit integer := 1000;
begin
  select s.paused, s.delay_seconds, q.name as target, q.retention_seconds into v_edge
  from signalbox.queue_subscription s
  join signalbox.queue q on q.queue_id = s.target_queue_id
  where s.subscription_id = send_held_copies.subscription_id
  for update of s skip locked;
  if not found then
    return 0;
  end if;
  perform signalbox._expire_held_copies(send_held_copies.subscription_id, v_edge.retention_seconds);
  if v_edge.paused then
    return 0;
  end if;
  while v_limit > 0 loop
    v_copies := array(
      select h from signalbox.held_copy h
      where h.subscription_id = send_held_copies.subscription_id
      order by h.held_copy_id
      limit v_limit
    );
    if v_copies = '{}' then
      return 0;
    end if;
    if signalbox._send_copies(v_edge.target, v_copies, v_edge.delay_seconds) then
      delete from signalbox.held_copy h
      where h.subscription_id = send_held_copies.subscription_id
        and h.held_copy_id <= v_copies[cardinality(v_copies)].held_copy_id;
      update signalbox.queue_subscription s set fed_at = clock_timestamp()
      where s.subscription_id = send_held_copies.subscription_id;
      return cardinality(v_copies);
    end if;
    v_limit := least(v_limit, cardinality(v_copies)) / 4;
  end loop;
  return 0;
exception
  when lock_not_available or deadlock_detected then
    return 0; -- a sender of one of its groups is open: tried again in the next round
end $$;
