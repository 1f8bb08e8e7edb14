-- expire_messages(max_messages): expire messages that were ready or waiting for longer than their queue's retention,
-- dead letters that were kept for longer than their dead-letter queue's, and messages after a time of their own
-- (send_limited). Oldest first, bounded, SKIP LOCKED; counted, and noted in history. Returns how many. A queue that
-- cannot be worked on is skipped. Indexes: ready_claim, waiting_age, dead_letter_queue, message_limit_look.
create or replace function signalbox.expire_messages(max_messages integer default 10000) returns bigint
language plpgsql
set lock_timeout = '1s'
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_head record;
  v_expired bigint := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.expire'), 0) then
    return null;
  end if;
  for v_head in
    select q.queue_id, h.kind as priority, f.at as floor,
      clock_timestamp() - q.retention_seconds * interval '1 second' as bound
    from signalbox.queue q
    join signalbox.claim_floor h on h.queue_id = q.queue_id
      and h.kind >= {priority.lowest}, lateral (select signalbox.floor_time(h.floor) as at) f
    where exists (
      select from signalbox.ready r
      where r.queue_id = q.queue_id and r.priority = h.kind and r.ready_at >= f.at
        and r.ready_at < clock_timestamp() - q.retention_seconds * interval '1 second'
    )
  loop
    exit when v_expired >= expire_messages.max_messages;
    begin
      v_expired := v_expired + coalesce(cardinality(signalbox._remove(
        v_head.queue_id, 'ready', {event.expired_ready}, {outcome.expired},
        array(
          select c.ctid
          from signalbox.ready c
          where c.queue_id = v_head.queue_id and c.priority = v_head.priority
            and c.ready_at >= v_head.floor and c.ready_at < v_head.bound
          order by c.ready_at, c.message_id
          limit expire_messages.max_messages - v_expired
          for update skip locked
        )
      )), 0);
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('expire_messages', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  for v_head in
    select q.queue_id, l.floor, clock_timestamp() - q.retention_seconds * interval '1 second' as bound
    from signalbox.queue q
    cross join lateral (
      select max(signalbox.floor_time(h.floor)) as floor from signalbox.claim_floor h where h.queue_id = q.queue_id
        and h.kind = {floor.waiting}
    ) l
    where (
      select w.waiting_since
      from signalbox.waiting w
      where w.queue_id = q.queue_id and w.waiting_since >= l.floor
      order by w.waiting_since
      limit 1
    ) < clock_timestamp() - q.retention_seconds * interval '1 second'
  loop
    exit when v_expired >= expire_messages.max_messages;
    begin
      v_expired := v_expired + coalesce(cardinality(signalbox._remove(
        v_head.queue_id, 'waiting', {event.expired_waiting}, {outcome.expired},
        array(
          select c.ctid
          from signalbox.waiting c
          where c.queue_id = v_head.queue_id and c.waiting_since >= v_head.floor and c.waiting_since < v_head.bound
          order by c.waiting_since, c.message_id
          limit expire_messages.max_messages - v_expired
          for update skip locked
        )
      )), 0);
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('expire_messages', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  for v_head in
    select q.queue_id, clock_timestamp() - q.retention_seconds * interval '1 second' as bound
    from signalbox.queue q
    where q.is_dead_letter_queue
      and (
        select d.died_at from signalbox.dead_letter d where d.queue_id = q.queue_id order by d.dead_letter_id limit 1
      ) < clock_timestamp() - q.retention_seconds * interval '1 second'
  loop
    exit when v_expired >= expire_messages.max_messages;
    begin
      v_expired := v_expired + signalbox._delete_dead_letters(array(
        select d.dead_letter_id
        from (
          select d.dead_letter_id, d.died_at
          from signalbox.dead_letter d
          where d.queue_id = v_head.queue_id
          order by d.dead_letter_id
          limit expire_messages.max_messages - v_expired
        ) d
        where d.died_at < v_head.bound
      ), {outcome.expired}, {event.expired_dead}, {event.expired_held});
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('expire_messages', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  for v_head in
    select q.queue_id
    from signalbox.queue q
    where exists (
      select from signalbox.message_limit l where l.queue_id = q.queue_id and l.look_at <= clock_timestamp()
    )
  loop
    exit when v_expired >= expire_messages.max_messages;
    begin
      v_expired := v_expired + signalbox._look_at_limits(
        v_head.queue_id, (expire_messages.max_messages - v_expired)::integer
      );
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('expire_messages', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_expired;
end $$;
