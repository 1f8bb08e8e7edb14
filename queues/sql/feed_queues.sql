-- feed_queues(): send what subscriptions have not read yet to their queues, in one transaction with their offsets: each message
-- comes to each subscription's queue once, and there has its lease, retries and dead letters. A queue is kept at most
-- queue_window messages ahead of its consumers, so one that nobody receives from costs nothing but its lag. Key, attributes
-- and trace go along; the key is the message's group. Where a queue has no room for all of them it gets the first ones; one
-- that refuses even a single one is left until it no longer does. Subscriptions of one queue share its room. A subscription
-- that cannot go on keeps no other back: it waits for no FIFO group and for no lock. Returns how many.
create or replace function signalbox.feed_queues() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_turn record;
  v_fed bigint := 0;
begin
  for v_turn in select t.group_id, t.sharers from signalbox.subscriptions_to_feed() t loop
    begin
      v_fed := v_fed + signalbox.feed_queue(v_turn.group_id, v_turn.sharers);
    exception
      when others then
        raise warning 'subscription % was not fed: % (%)', v_turn.group_id, sqlerrm, sqlstate;
    end;
  end loop;
  return v_fed;
end $$;

-- subscriptions_to_feed(): one round of feed_queue: of each queue first the subscription that moved longest ago. sharers: how
-- many subscriptions of the queue have something unread and have not had their turn yet, this one among them.
-- Indexes: group_offset_pkey, once for each partition of a subscription.
create or replace function signalbox.subscriptions_to_feed() returns table (group_id integer, sharers integer)
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select u.group_id,
    greatest(count(*) filter (where u.behind) over (
      partition by u.queue_id order by u.moved_at desc, u.group_id desc rows unbounded preceding
    ), 1)::integer
  from (
    select g.group_id, g.queue_id, max(o.committed_at) as moved_at,
      bool_or(coalesce(pg_sequence_last_value(p.last), 0) > o.position) as behind
    from signalbox.consumer_group g
    join signalbox.stream s on s.stream_id = g.stream_id
    cross join lateral unnest(s.positions) with ordinality p(last, number)
    cross join lateral (
      select o.position, o.committed_at
      from signalbox.group_offset o
      where o.group_id = g.group_id and o.partition = p.number - 1
      order by o.offset_id desc
      limit 1
    ) o
    where g.queue_id is not null
    group by g.group_id, g.queue_id
  ) u
  order by u.queue_id, u.moved_at, u.group_id;
end $$;

-- feed_queue(group_id, sharers): one batch of one subscription; returns how many. It takes its share of the queue's room where
-- others feed the queue after it. Who holds the subscription's row feeds it; others pass. Whatever stops it stops it alone: a
-- queue that is full, closed or held, a message too large, an open sender of a FIFO group, a lock that is not free at once.
create or replace function signalbox.feed_queue(group_id integer, sharers integer default 1) returns bigint
language plpgsql
set lock_timeout = '100ms'
set search_path = pg_catalog, pg_temp
as $$
begin
  return signalbox._feed_share(feed_queue.group_id, greatest(feed_queue.sharers, 1));
exception
  when sqlstate 'SB429' or sqlstate 'SB423' or sqlstate 'SB413' or sqlstate 'SB503' then
    return 0; -- full, closed, too small for this one, or under maintenance that refuses sends: the group's lag shows it
  when sqlstate 'SB000' or lock_not_available or deadlock_detected then
    return 0; -- rewound while it was read, or somebody has a row of it locked: the next round
end $$;

create or replace function signalbox._feed_share(p_group_id integer, p_sharers integer) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_group record;
  v_room bigint;
  v_batch record;
  v_taken bigint[];
  v_held integer[] := '{}';
  v_sent integer;
begin
  select g.group_id, g.name, g.queue_window, s.name as stream, q.name as queue, q.queue_id, q.mode
  into v_group
  from signalbox.consumer_group g
  join signalbox.stream s on s.stream_id = g.stream_id
  join signalbox.queue q on q.queue_id = g.queue_id
  where g.group_id = p_group_id
  for update of g skip locked;
  if not found then
    return 0;
  end if;
  select v_group.queue_window - (d.depths[1] + d.depths[2] + d.depths[3] + d.depths[4])
  into v_room
  from signalbox.queue_totals(array[v_group.queue_id]) t
  cross join lateral (select signalbox._depths(t.totals) as depths) d;
  v_room := least(ceil(coalesce(v_room, v_group.queue_window)::numeric / p_sharers), 1000);
  if v_room <= 0 then
    return 0;
  end if;
  perform signalbox._renew_member(p_group_id, 'feed', 60);
  perform signalbox._balance(p_group_id, 'feed', 64);
  -- As they were read: the partition first that was fed longest ago, so that none starves where few have room. Partitions that all
  -- begin with a group that an open sender holds are passed over for the others.
  loop
    -- What was appended before it was refused is fed as text, or nothing behind it would be.
    select count(*) as messages, array_agg(signalbox._made_readable(r.payload) order by r.ordinality) as payloads,
      array_agg(signalbox._made_readable(r.attributes) order by r.ordinality) as attributes,
      array_agg(r.key order by r.ordinality) as keys,
      array_agg(signalbox._printable(r.trace_id) order by r.ordinality) as trace_ids,
      array_agg(r.partition order by r.ordinality) as partitions,
      array_agg(r.position order by r.ordinality) as positions,
      array_agg(r.epoch order by r.ordinality) as epochs
    into v_batch
    from signalbox._read_group(p_group_id, 'feed', v_room::integer, v_held) with ordinality r;
    exit when v_batch.messages = 0 or v_group.mode <> 'fifo';
    v_taken := signalbox._take_turns(v_group.queue_id, v_batch.keys);
    exit when v_taken = '{}';
    v_held := v_held || v_batch.partitions;
    -- Each partition goes as far as its first message of a group that an open sender holds.
    select count(*) as messages, array_agg(f.payload order by f.place) as payloads,
      array_agg(f.attributes order by f.place) as attributes,
      array_agg(f.key order by f.place) as keys,
      array_agg(f.trace_id order by f.place) as trace_ids,
      array_agg(f.partition order by f.place) as partitions,
      array_agg(f.position order by f.place) as positions,
      array_agg(f.epoch order by f.place) as epochs
    into v_batch
    from (
      select r.*, min(r.place) filter (where signalbox._fifo_turn(v_group.queue_id, r.key) = any(v_taken))
        over (partition by r.partition) as first_held
      from unnest(
        v_batch.payloads, v_batch.attributes, v_batch.keys, v_batch.trace_ids, v_batch.partitions, v_batch.positions, v_batch.epochs
      ) with ordinality r(payload, attributes, key, trace_id, partition, position, epoch, place)
    ) f
    where f.first_held is null or f.place < f.first_held;
    exit when v_batch.messages > 0;
  end loop;
  if v_batch.messages = 0 then
    return 0;
  end if;
  v_sent := v_batch.messages;
  loop
    begin
      perform signalbox.send_batch(
        v_group.queue, v_batch.payloads[:v_sent],
        attributes => case when cardinality(array_remove(v_batch.attributes[:v_sent], null)) > 0 then v_batch.attributes[:v_sent] end,
        group_ids => case when cardinality(array_remove(v_batch.keys[:v_sent], null)) > 0 then v_batch.keys[:v_sent] end,
        trace_ids => case when cardinality(array_remove(v_batch.trace_ids[:v_sent], null)) > 0 then v_batch.trace_ids[:v_sent] end
      );
      exit;
    exception
      when sqlstate 'SB429' or sqlstate 'SB413' then
        if v_sent = 1 then
          raise;
        end if;
        v_sent := greatest(v_sent / 4, 1); -- a batch is taken whole or not at all: a limit below it would refuse it for ever
    end;
  end loop;
  if not (
    select bool_and(signalbox._commit_offset(p_group_id, f.partition, 'feed', f.epoch, f.position))
    from (
      select f.partition, max(f.epoch) as epoch, max(f.position) as position
      from unnest(v_batch.partitions[:v_sent], v_batch.positions[:v_sent], v_batch.epochs[:v_sent]) f(partition, position, epoch)
      group by f.partition
    ) f
  ) then
    raise exception using errcode = 'SB000', message = 'the subscription was rewound while it was fed'; -- nothing was sent
  end if;
  return v_sent;
end $$;

-- Takes the turns of FIFO groups that are free, in sorted order, and returns the others: their senders have not committed yet.
create or replace function signalbox._take_turns(p_queue_id integer, p_group_ids text[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select t.turn
    from (
      select distinct signalbox._fifo_turn(p_queue_id, g) as turn from unnest(p_group_ids) g order by 1 offset 0
    ) t
    where not pg_try_advisory_xact_lock(t.turn)
  );
end $$;

drop function if exists signalbox._feed_queue(integer); -- of the release before
