-- Claim up to p_limit messages that wait behind the first message of a FIFO group, which this transaction has just
-- claimed (receive_groups). They get the same deadline and consumer. Returns nothing if the group must not be claimed
-- together: a dead letter may block it, it pauses between messages, it waits for another cell, or another transaction
-- promotes it at this moment. Never waits, and takes no message behind one that another transaction holds.
-- Each message gets a slot with its place, to which it returns if it is not acknowledged. The place of the first
-- message was lost at its promotion: it gets the place just before the second, which no other message of the group has.
-- A note that says that no message waits there is replaced (_note_lane). Indexes: waiting_lane, lane_floor_newest,
-- lease_pkey, lane_slot_pkey, message_pkey.
create or replace function signalbox._receive_behind(p_message_id bigint, p_limit integer)
returns table (
  message_id bigint,
  receipt_handle text,
  receive_count int,
  payload jsonb,
  attributes jsonb,
  group_id text,
  priority int,
  sent_at timestamptz,
  deadline timestamptz,
  state jsonb,
  body jsonb
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_head signalbox.lease;
  v_limit integer := p_limit;
  v_flags smallint;
  v_origin tid;
  v_noted bigint;
  v_seen bigint[];
  v_held bigint[];
  v_ids bigint[];
  v_counts smallint[];
  v_now timestamptz := clock_timestamp();
  v_fetched integer;
begin
  select l.* into v_head from signalbox.lease l where l.message_id = any(array[p_message_id]);
  if v_head.lane is null or p_limit < 1
    or not pg_try_advisory_xact_lock(hashtextextended(v_head.queue_id || ':' || v_head.lane, 2)) then
    return;
  end if;
  select q.admission_flags into v_flags
  from signalbox.queue q
  where q.queue_id = v_head.queue_id and q.mode = 'fifo' and not q.fifo_block_on_dead_letter
    and q.group_release_interval_seconds = 0
    and not (q.admission_flags & {flag.is_placed} > 0 and signalbox._waits_for_source(q.name, v_head.lane));
  if not found then
    return;
  end if;
  if v_flags & {flag.limits_in_flight} > 0 then
    v_limit := least(v_limit, signalbox._free_in_flight(v_head.queue_id));
  end if;
  select f.ctid, f.place into v_origin, v_noted
  from signalbox.lane_floor f
  where f.queue_id = v_head.queue_id and f.lane = v_head.lane
    and f.epoch = pg_sequence_last_value('signalbox.lane_epoch'::regclass)
  order by f.noted desc
  limit 1;
  v_seen := array(
    select w.place
    from signalbox.waiting w
    where w.queue_id = v_head.queue_id and w.lane = v_head.lane
      and w.place >= case when signalbox._floors_are_kept() then coalesce(v_noted, 0) else 0 end
    order by w.place
    limit greatest(v_limit, 0)
  );
  v_held := array(
    select w.place
    from signalbox.waiting w
    where w.queue_id = v_head.queue_id and w.lane = v_head.lane and w.place = any(v_seen)
    order by w.place
    for update skip locked
  );
  v_held := array(
    select h.place
    from unnest(v_held, v_seen) with ordinality h(place, seen, number)
    where h.place = h.seen -- up to the first that another transaction holds
    order by h.number
  );
  if v_held = '{}' then
    return;
  end if;
  with picked as (
    delete from signalbox.waiting w
    where w.queue_id = v_head.queue_id and w.lane = v_head.lane and w.place = any(v_held)
    returning w.place, w.priority, w.receive_count, w.message_id
  ), slots as (
    insert into signalbox.lane_slot (message_id, queue_id, lane, place)
    select p.message_id, v_head.queue_id, v_head.lane, p.place from picked p
  ), leased as (
    insert into signalbox.lease (
      message_id, queue_id, receive_count, priority, deadline, leased_at, nonce, consumer, lane
    )
    select p.message_id, v_head.queue_id, least(p.receive_count + 1, 32767), p.priority, v_head.deadline,
      v_head.leased_at, v_head.nonce, v_head.consumer, v_head.lane
    from picked p
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select v_head.queue_id, {event.released_from_lane}, count(*), v_head.lane from picked
  ), delivered as (
    insert into signalbox.counter_delta (queue_id, event, amount, waits_ms)
    select v_head.queue_id, {event.delivered}, count(*), array_agg(0) filter (where p.receive_count = 0) from picked p
  ), redelivered as (
    insert into signalbox.counter_delta (queue_id, event, amount)
    select v_head.queue_id, {event.redelivered}, count(*)
    from picked p
    where p.receive_count > 0
    having count(*) > 0
  )
  select array_agg(p.message_id order by p.place), array_agg(p.receive_count order by p.place)
  into v_ids, v_counts
  from picked p;
  update signalbox.lane_slot s set place = v_held[1] - 1 where s.message_id = any(array[p_message_id]);
  if v_noted >= v_held[1] then
    with note as (
      delete from signalbox.lane_floor f where f.ctid = v_origin returning f.*
    )
    insert into signalbox.lane_floor (queue_id, lane, epoch, place, slot, latest, holders)
    select n.queue_id, n.lane, n.epoch, v_held[1] - 1, n.slot, n.latest, n.holders from note n;
  end if;
  return query
  select m.message_id, v_head.queue_id || '.' || m.message_id || '.' || v_head.nonce,
    least(c.receives + 1, 32767), m.payload, m.attributes, m.group_id, m.priority::int, m.sent_at, v_head.deadline,
    case when c.receives > 0 then signalbox._state_of(m.message_id) end,
    signalbox._body_of(m.body_sha256, m.body_bytes)
  from unnest(v_ids, v_counts) with ordinality c(message_id, receives, number)
  cross join lateral (
    select l.message_id, l.payload, l.attributes, l.group_id, l.priority, l.sent_at, l.body_sha256, l.body_bytes,
      l.expires_at
    from signalbox.message l
    where l.queue_id = v_head.queue_id and l.message_id = c.message_id
    union all
    select k.message_id, k.payload, k.attributes, k.group_id, k.priority, k.sent_at, k.body_sha256, k.body_bytes,
      k.expires_at
    from signalbox._kept_bodies(v_head.queue_id, array[c.message_id]) k
    limit 1
  ) m
  where m.expires_at is null or m.expires_at > v_now
  order by c.number;
  get diagnostics v_fetched = row_count;
  if v_fetched < cardinality(v_ids) then
    perform signalbox._expire_claimed(v_head.queue_id, v_ids, v_head.nonce, v_now);
  end if;
end $$;
