-- Expire the messages of a claim whose expires_at has passed, instead of delivering them; their deliveries are not
-- counted. Such messages among the next thousand ready ones expire too, so that the next claim does not begin with
-- them. Indexes: lease_pkey, message_pkey, message_kept_pkey, ready_claim, message_limit_pkey.
create or replace function signalbox._expire_claimed(
  p_queue_id integer, p_ids bigint[], p_nonce uuid, p_at timestamptz
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gone bigint[];
begin
  with over as (
    select m.message_id
    from signalbox.message m
    where m.queue_id = p_queue_id and m.message_id = any(p_ids) and m.expires_at <= p_at
    union
    select k.message_id
    from signalbox.message_kept k
    where k.queue_id = p_queue_id and k.message_id = any(p_ids) and k.expires_at <= p_at
  ), claimed as (
    update signalbox.lease l
    set receive_count = l.receive_count - 1
    from over o
    where l.message_id = any(array[o.message_id]) and l.nonce = p_nonce
    returning l.message_id, l.receive_count
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount)
    select p_queue_id, e.event, -e.claims
    from (
      select {event.delivered} as event, count(*) as claims from claimed
      union all
      select {event.redelivered}, count(*) from claimed c where c.receive_count > 0
    ) e
    where e.claims > 0
  )
  select array_agg(c.message_id) into v_gone from claimed c;
  perform signalbox._remove(
    p_queue_id, 'leased', {event.expired_ready}, {outcome.expired},
    array(select l.ctid from signalbox.lease l where l.message_id = any(v_gone))
  );
  perform signalbox._remove(
    p_queue_id, 'ready', {event.expired_ready}, {outcome.expired},
    array(
      select r.ctid
      from signalbox.ready r
      where r.ctid = any(array(
        select c.ctid
        from (
          select h.ctid, h.message_id
          from signalbox.claim_floor f
          cross join lateral (
            select n.ctid, n.message_id
            from signalbox.ready n
            where n.queue_id = p_queue_id and n.priority = f.kind and n.ready_at >= signalbox.floor_time(f.floor)
            order by n.ready_at, n.message_id
            limit 1000
          ) h
          where f.queue_id = p_queue_id and f.kind >= {priority.lowest}
        ) c
        join signalbox.message_limit l on l.message_id = c.message_id
        where l.expires_at <= p_at
      ))
      for update skip locked
    )
  );
end $$;
