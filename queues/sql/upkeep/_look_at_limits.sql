-- Expire the messages of a queue whose own time is over, wherever they wait, and forget the limits of messages that
-- have ended. A message in flight, or locked by another transaction, is looked at again in ten seconds, any other in an
-- hour. Reads every ready ticket of the queue, once for up to p_limit limits that are due. Returns how many expired.
-- Indexes: message_limit_look, scheduled_message, waiting_message, ready_claim, lease_pkey.
create or replace function signalbox._look_at_limits(p_queue_id integer, p_limit integer) returns integer
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids bigint[];
  v_over bigint[];
  v_ready bigint[];
  v_expired bigint[];
begin
  select array_agg(d.message_id), array_agg(d.message_id) filter (where d.expires_at <= clock_timestamp())
  into v_ids, v_over
  from (
    select l.message_id, l.expires_at
    from signalbox.message_limit l
    where l.queue_id = p_queue_id and l.look_at <= clock_timestamp()
    order by l.look_at
    limit p_limit
    for update skip locked
  ) d;
  if v_ids is null then
    return 0;
  end if;
  v_expired := array_cat(
    signalbox._remove(p_queue_id, 'scheduled', {event.expired_scheduled}, {outcome.expired}, array(
      select s.ctid from signalbox.scheduled s where s.message_id = any(v_over) and s.queue_id + 0 = p_queue_id
      for update skip locked
    )),
    signalbox._remove(p_queue_id, 'waiting', {event.expired_waiting}, {outcome.expired}, array(
      select w.ctid from signalbox.waiting w where w.message_id = any(v_over) and w.queue_id + 0 = p_queue_id
      for update skip locked
    ))
  );
  v_expired := array_cat(
    v_expired,
    signalbox._remove(p_queue_id, 'ready', {event.expired_ready}, {outcome.expired}, array(
      select r.ctid from signalbox.ready r where r.queue_id = p_queue_id and r.message_id = any(v_over)
      for update skip locked
    ))
  );
  v_ready := array(
    select r.message_id from signalbox.ready r where r.queue_id = p_queue_id and r.message_id = any(v_ids)
  );
  delete from signalbox.message_limit l
  where l.message_id = any(v_ids) and l.message_id <> all(v_ready)
    and not exists (select from signalbox.scheduled s where s.message_id = any(array[l.message_id]))
    and not exists (select from signalbox.waiting w where w.message_id = any(array[l.message_id]))
    and not exists (select from signalbox.lease h where h.message_id = any(array[l.message_id]))
    and not exists (select from signalbox.dead_letter d where d.message_id = any(array[l.message_id]))
    and not exists (select from signalbox.trash t where t.message_id = any(array[l.message_id]));
  update signalbox.message_limit l
  set look_at = clock_timestamp() + case
      when l.message_id = any(v_over) and (l.message_id = any(v_ready) or exists (
        select from signalbox.lease h where h.message_id = any(array[l.message_id])
      )) then interval '10 seconds'
      else interval '1 hour'
    end
  where l.message_id = any(v_ids);
  return coalesce(cardinality(v_expired), 0);
end $$;
