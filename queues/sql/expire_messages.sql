-- expire_messages(max_messages): messages that waited, claimable or for their lane, for longer than their queue's retention expire, and so
-- do dead letters kept for longer than their dead-letter queue's. Oldest first, bounded, SKIP LOCKED; counted, and noted
-- in history. Returns how many. A queue that cannot be worked on is passed over. Indexes: ready_claim, waiting_age, dead_letter_queue.
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
  v_ids bigint[];
  v_counts smallint[];
  v_lanes text[];
  v_expired bigint := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.expire'), 0) then
    return null;
  end if;
  for v_head in
    select q.queue_id, h.kind as priority, f.at as floor, clock_timestamp() - q.retention_seconds * interval '1 second' as bound
    from signalbox.queue q
    join signalbox.head h on h.queue_id = q.queue_id and h.kind < 10, lateral (select signalbox.floor_time(h.floor) as at) f
    where exists (
      select from signalbox.ready r
      where r.queue_id = q.queue_id and r.priority = h.kind and r.ready_at >= f.at
        and r.ready_at < clock_timestamp() - q.retention_seconds * interval '1 second'
    )
  loop
    exit when v_expired >= expire_messages.max_messages;
    begin
      with gone as (
        delete from signalbox.ready r
        where r.ctid = any(array(
          select c.ctid
          from signalbox.ready c
          where c.queue_id = v_head.queue_id and c.priority = v_head.priority and c.ready_at >= v_head.floor and c.ready_at < v_head.bound
          order by c.ready_at, c.message_id
          limit expire_messages.max_messages - v_expired
          for update skip locked
        ))
        returning r.message_id, r.receive_count
      )
      select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id)
      into v_ids, v_counts
      from gone g;
      perform signalbox._settle(v_head.queue_id, 'e', 19::smallint, v_ids, v_counts);
      v_expired := v_expired + coalesce(cardinality(v_ids), 0);
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
      select max(signalbox.floor_time(h.floor)) as floor from signalbox.head h where h.queue_id = q.queue_id and h.kind = 13
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
      with gone as (
        delete from signalbox.waiting w
        where w.ctid = any(array(
          select c.ctid
          from signalbox.waiting c
          where c.queue_id = v_head.queue_id and c.waiting_since >= v_head.floor and c.waiting_since < v_head.bound
          order by c.waiting_since, c.message_id
          limit expire_messages.max_messages - v_expired
          for update skip locked
        ))
        returning w.message_id, w.receive_count, w.lane
      )
      select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id),
        array_agg(g.lane order by g.message_id)
      into v_ids, v_counts, v_lanes
      from gone g;
      perform signalbox._settle_waiting(v_head.queue_id, 'e', 36::smallint, v_ids, v_counts, v_lanes);
      v_expired := v_expired + coalesce(cardinality(v_ids), 0);
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
      ), 'e', 20::smallint, 27::smallint);
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('expire_messages', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_expired;
end $$;

-- return_and_promote(queue_ids, max_messages): what receive does first, for queues that nobody receives from just now. Each of
-- both for each queue is a subtransaction: whatever stops one queue stops no other.
create or replace function signalbox.return_and_promote(queue_ids integer[], max_messages integer default 1000) returns bigint
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue record;
  v_moved bigint := 0;
begin
  for v_queue in
    select q.queue_id,
      coalesce(max(f.at) filter (where h.kind = 10), '-infinity') as lease_floor,
      coalesce(max(f.at) filter (where h.kind = 11), '-infinity') as due_floor
    from signalbox.queue q
    join signalbox.head h on h.queue_id = q.queue_id, lateral (select signalbox.floor_time(h.floor) as at) f
    where return_and_promote.queue_ids is null or q.queue_id = any(return_and_promote.queue_ids)
    group by q.queue_id
  loop
    begin
      v_moved := v_moved + signalbox._return_expired(v_queue.queue_id, v_queue.lease_floor, return_and_promote.max_messages);
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('return_and_promote', v_queue.queue_id, sqlstate, sqlerrm);
    end;
    begin
      v_moved := v_moved + signalbox._promote_due(v_queue.queue_id, v_queue.due_floor, return_and_promote.max_messages);
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('return_and_promote', v_queue.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_moved;
end $$;
