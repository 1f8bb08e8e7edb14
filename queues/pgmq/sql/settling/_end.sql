-- End messages by their ids: acknowledge those in flight, remove the others. Returns the ids of those that ended. A
-- message that is not in flight is found in the queue's tickets, one after the other.
-- Indexes: lease_pkey, scheduled_message, ready_claim.
create or replace function pgmq._end(p_queue_id integer, p_ids bigint[]) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ended bigint[] := array(
    select split_part(a.receipt_handle, '.', 2)::bigint
    from signalbox.ack(pgmq._handles(p_queue_id, p_ids)) a
    where a.acked
  );
  v_left bigint[] := array(select m.msg_id from pgmq._records(p_queue_id, p_ids) m where m.msg_id <> all(v_ended));
begin
  if v_left <> '{}' then
    v_ended := v_ended || signalbox._remove(p_queue_id, 'scheduled', {event.purged_scheduled}, {outcome.purged}, array(
      select c.ctid from signalbox.scheduled c
      where c.message_id = any(v_left) and c.queue_id + 0 = p_queue_id
      for update skip locked
    ));
    v_ended := v_ended || signalbox._remove(p_queue_id, 'ready', {event.purged_ready}, {outcome.purged}, array(
      select c.ctid from signalbox.ready c
      where c.queue_id = p_queue_id and c.message_id = any(v_left)
      for update skip locked
    ));
    v_ended := v_ended || signalbox._remove(p_queue_id, 'waiting', {event.purged_waiting}, {outcome.purged}, array(
      select c.ctid from signalbox.waiting c
      where c.queue_id = p_queue_id and c.message_id = any(v_left)
      for update skip locked
    ));
  end if;
  return query select e from unnest(v_ended) e;
end $$;
