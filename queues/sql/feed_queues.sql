-- feed_queues(): send what subscriptions have not read yet to their queues, in one transaction with their offsets: each message
-- comes to each subscription's queue once, and there has its lease, retries and dead letters. A queue is kept at most
-- queue_window messages ahead of its consumers, so one that nobody receives from costs nothing but its lag. Key, attributes
-- and trace go along; the key is the message's group. Where a queue has no room for all of them it gets the first ones; one
-- that refuses even a single one is left until it no longer does. Returns how many.
create or replace function signalbox.feed_queues() returns bigint
language plpgsql
as $$
declare
  v_group_id integer;
  v_fed bigint := 0;
begin
  for v_group_id in
    select g.group_id from signalbox.consumer_group g where g.queue_id is not null order by g.group_id
  loop
    begin
      v_fed := v_fed + signalbox._feed_queue(v_group_id);
    exception
      when sqlstate 'SB429' or sqlstate 'SB423' or sqlstate 'SB413' or sqlstate 'SB503' then
        null; -- full, closed, too small for this one, or under maintenance that refuses sends: the group's lag shows it
    end;
  end loop;
  return v_fed;
end $$;

-- One subscription, one batch. Whoever holds its row feeds it; others pass.
create or replace function signalbox._feed_queue(p_group_id integer) returns bigint
language plpgsql
as $$
declare
  v_group record;
  v_room bigint;
  v_batch record;
  v_sent integer;
begin
  select g.group_id, g.name, g.queue_window, s.name as stream, q.name as queue, q.queue_id
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
  v_room := least(coalesce(v_room, v_group.queue_window), 1000);
  if v_room <= 0 then
    return 0;
  end if;
  perform signalbox._renew_member(p_group_id, 'feed', 60);
  perform signalbox._balance(p_group_id, 'feed', 64);
  -- As they were read: the partition first that was fed longest ago, so that none starves where few have room.
  -- What was appended before it was refused is fed as text, or nothing behind it would be.
  select count(*) as messages, array_agg(signalbox._made_readable(r.payload) order by r.ordinality) as payloads,
    array_agg(signalbox._made_readable(r.attributes) order by r.ordinality) as attributes,
    array_agg(r.key order by r.ordinality) as keys,
    array_agg(signalbox._printable(r.trace_id) order by r.ordinality) as trace_ids,
    array_agg(r.partition order by r.ordinality) as partitions,
    array_agg(r.position order by r.ordinality) as positions,
    array_agg(r.epoch order by r.ordinality) as epochs
  into v_batch
  from signalbox._read_group(p_group_id, 'feed', v_room::integer) with ordinality r;
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
  perform signalbox._commit_offset(p_group_id, f.partition, 'feed', f.epoch, f.position)
  from (
    select f.partition, max(f.epoch) as epoch, max(f.position) as position
    from unnest(v_batch.partitions[:v_sent], v_batch.positions[:v_sent], v_batch.epochs[:v_sent]) f(partition, position, epoch)
    group by f.partition
  ) f;
  return v_sent;
end $$;
