-- Wait for transactions that write the row of a queue or stream, and keep others from it until this transaction ends: a
-- queue that is made at the same time would otherwise miss the flags, or keep them. It comes before any other lock, so
-- that waits form no circle. Verbs that only read queues, as send, receive and ack do, never wait for it.
create or replace function signalbox._lock_queues() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  lock table signalbox.queue, signalbox.stream in exclusive mode;
end $$;
