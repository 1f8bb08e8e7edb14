-- Refuse to move a queue whose messages depend on data that stays in its cell: ends of subscriptions, dead-letter
-- queues, and queues that hold a deduplication id until its message ends.
create or replace function signalbox._check_movable(p_queue signalbox.queue) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_queue.dedup_scope = 'in_flight' then
    perform signalbox._refuse(
      'queue', 'holds deduplication ids while messages are in it (dedup_scope): it cannot move'
    );
  end if;
  if p_queue.is_dead_letter_queue then
    perform signalbox._refuse('queue', 'keeps dead letters, which stay in the cell where they died: it cannot move');
  end if;
  if exists (select from signalbox.consumer_group g where g.queue_id = p_queue.queue_id) or exists (
    select from signalbox.queue_subscription s where p_queue.queue_id in (s.source_queue_id, s.target_queue_id)
  ) then
    perform signalbox._refuse('queue', 'is an end of a subscription: it cannot move');
  end if;
end $$;
