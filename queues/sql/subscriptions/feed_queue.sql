-- feed_queue(group_id, sharers): send one batch of one subscription. Returns how many messages. It takes its share of
-- the queue's room where others feed the queue after it. A process that holds the subscription's row feeds it; others
-- skip it. An obstacle stops only this subscription: a queue that is full, closed or held, a message that is too large,
-- an open sender of a FIFO group, a pause, a lock that is not free at once.
create or replace function signalbox.feed_queue(group_id integer, sharers integer default 1) returns bigint
language plpgsql
set lock_timeout = '100ms'
set search_path = pg_catalog, pg_temp
as $$
begin
  return signalbox._feed_share(feed_queue.group_id, greatest(feed_queue.sharers, 1));
exception
  when sqlstate 'SB429' or sqlstate 'SB421' or sqlstate 'SB423' or sqlstate 'SB413' or sqlstate 'SB503' then
    return 0; -- full, closed, too small for this one, or under maintenance that refuses sends: the group's lag shows it
  when sqlstate 'SB000' or lock_not_available or deadlock_detected then
    return 0; -- moved while it was read, or a row is locked: tried again in the next round
end $$;
