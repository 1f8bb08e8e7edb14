-- Keep a queue from being deleted and its mode from changing until this transaction ends (_claim_queue). For verbs that
-- put messages into a queue without checking `closed`. It waits only for a transaction that deletes the queue or
-- changes its mode. Queues share a fixed number of advisory locks, so that a transaction with deaths in many thousands
-- of queues holds no more locks than that. While another queue with the same lock is deleted, a lock of the row
-- replaces it, for which deletion waits.
create or replace function signalbox._keep_queue(p_queue_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_try_advisory_xact_lock_shared(hashtext('signalbox.keep_queue'), signalbox._keep_place(p_queue_id)) then
    perform from signalbox.queue q where q.queue_id = p_queue_id for key share skip locked;
    if not found and exists (select from signalbox.queue q where q.queue_id = p_queue_id) then
      perform pg_advisory_xact_lock_shared(hashtext('signalbox.keep_queue'), signalbox._keep_place(p_queue_id));
    end if;
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    -- an error when it was deleted since the snapshot
    perform from signalbox.queue q where q.queue_id = p_queue_id for key share;
  end if;
end $$;
