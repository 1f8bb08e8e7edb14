-- delete_queue(name, open_at_closing): delete an empty queue that nothing uses. Returns the id that it had.
-- The queue must be closed (configure_queue), and every transaction that was open when it was closed must have ended,
-- since one of them may have found it open and sent. open_at_closing is the answer of open_transactions() after the
-- closing was committed; null: no other transaction may be open now. Only then a new statement, which sees what those
-- transactions have left, checks the tables. A transaction that puts messages into a queue that may be closed (a death,
-- an undo) holds the queue until it ends (_keep_queue), and deletion is refused until then. Anything in the way is an
-- error, whose detail is a JSON object.
-- Claim floors, admission counters, counters, message groups and consumers of the queue are deleted with it. Rows that
-- are kept by time (the log, history, failures, deduplication windows) go when their time is over, and find the queue's
-- name for a year (_known_queue): a queue's id is never used again. Locks the queue's row, then rows of its own in the
-- order of their tables. Indexes: those of each table by queue_id.
create or replace function signalbox.delete_queue(name text, open_at_closing text[] default null) returns integer
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue signalbox.queue;
  v_register regclass;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('delete_queue');
  end if;
  select * into v_queue from signalbox.queue q where q.name = delete_queue.name for update;
  if not found then
    perform signalbox._refuse_unknown_queue(delete_queue.name);
  end if;
  perform signalbox._refuse_queue_in_use(v_queue); -- refuses plain obstacles at once
  if v_queue.admission_flags & {flag.is_placed} > 0 then
    perform signalbox._refuse_in_use(v_queue.name, 'is placed on other cells', '{"placed": true}');
  end if;
  if not signalbox._was_closed(v_queue.queue_id) then
    perform signalbox._refuse_in_use(v_queue.name, 'is not closed', '{"open": true}');
  end if;
  if not signalbox._claim_queue(v_queue.queue_id)
    or signalbox.open_transactions() && coalesce(delete_queue.open_at_closing, signalbox.open_transactions())
    or not signalbox._outlive(signalbox._prepared_messages())
  then
    perform signalbox._refuse_in_use(
      v_queue.name, 'may still be sent to by a transaction that is open', '{"transactions": true}'
    );
  end if;
  perform signalbox._refuse_queue_in_use(v_queue);
  perform signalbox._drop_alias(a) from signalbox.queue_alias a where a.queue_id = v_queue.queue_id;
  delete from signalbox.queue q where q.queue_id = v_queue.queue_id;
  insert into signalbox.former_queue (queue_id, name, tenant_id)
    values (v_queue.queue_id, v_queue.name, v_queue.tenant_id);
  perform signalbox._audit_deletion(v_queue);
  delete from signalbox.consumer c where c.queue_id = v_queue.queue_id;
  delete from signalbox.dedup_in_flight k where k.queue_id = v_queue.queue_id;
  delete from signalbox.failure_cluster_queue c where c.queue_id = v_queue.queue_id;
  delete from signalbox.former_dead_letter_queue f where v_queue.queue_id in (f.queue_id, f.source_queue_id);
  delete from signalbox.claim_floor h where h.queue_id = v_queue.queue_id;
  delete from signalbox.history_refused h where h.queue_id = v_queue.queue_id;
  delete from signalbox.lane_floor f where f.queue_id = v_queue.queue_id;
  delete from signalbox.lane_hint h where h.queue_id = v_queue.queue_id;
  delete from signalbox.lane_limit l where l.queue_id = v_queue.queue_id;
  delete from signalbox.lane_slot s where s.queue_id = v_queue.queue_id;
  delete from signalbox.lane_stat s where s.queue_id = v_queue.queue_id;
  delete from signalbox.logged_warning w where w.queue_id = v_queue.queue_id;
  delete from signalbox.queue_stat s where s.queue_id = v_queue.queue_id;
  for v_register in
    with counters as (
      delete from signalbox.admission_counter g where g.queue_id = v_queue.queue_id returning g.*
    ), refusals as (
      delete from signalbox.refusal r where r.queue_id = v_queue.queue_id returning r.counter
    )
    select r.register
    from counters g
    cross join lateral unnest(array[
      g.next_free, g.last_xid, g.admitted, g.base, g.bytes_held, g.mean_bytes, g.oldest, g.evaluated, g.lost,
      g.mark_admitted, g.mark_xid
    ]) r(register)
    union all
    select r.counter from refusals r
  loop
    execute format('drop sequence %s', v_register);
  end loop;
  return v_queue.queue_id;
end $$;
