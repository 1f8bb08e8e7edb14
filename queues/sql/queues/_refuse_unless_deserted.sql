-- Refuse to change the mode of a queue that holds messages, or into which a transaction may still put messages by its
-- old mode. The queue must be closed by a committed transaction, and those that may have begun before must have ended.
-- A new statement reads the tables last, so that it sees what those have left.
create or replace function signalbox._refuse_unless_deserted(p_queue signalbox.queue) returns void
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if not signalbox._was_closed(p_queue.queue_id) then
    perform signalbox._refuse(
      'mode',
      'can be changed only while the queue is closed and empty: first set closed to true, in a transaction of its own'
    );
  end if;
  if not signalbox._claim_queue(p_queue.queue_id)
    or not signalbox._outlive(signalbox.open_transactions())
    or not signalbox._outlive(signalbox._prepared_messages())
  then
    perform signalbox._refuse(
      'mode',
      'cannot be changed while transactions are open that may have found the queue open: try again when they have ended'
    );
  end if;
  if exists (select from signalbox.ready r where r.queue_id = p_queue.queue_id)
    or exists (select from signalbox.scheduled s where s.queue_id = p_queue.queue_id)
    or exists (select from signalbox.waiting w where w.queue_id = p_queue.queue_id)
    or exists (select from signalbox.lease l where l.queue_id = p_queue.queue_id)
  then
    perform signalbox._refuse('mode', 'can be changed only while the queue is empty');
  end if;
end $$;
