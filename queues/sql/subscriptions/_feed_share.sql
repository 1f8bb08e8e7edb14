-- Feed the queue of one subscription with its share of the queue's room.
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
  select g.group_id, g.name, g.queue_window, g.delay_seconds, s.name as stream, q.name as queue, q.queue_id, q.mode
  into v_group
  from signalbox.consumer_group g
  join signalbox.stream s on s.stream_id = g.stream_id
  join signalbox.queue q on q.queue_id = g.queue_id
  where g.group_id = p_group_id and not g.paused
  for update of g skip locked;
  if not found then
    return 0;
  end if;
  select v_group.queue_window - (d.ready + d.scheduled + d.waiting + d.leased)
  into v_room
  from signalbox.queue_totals(array[v_group.queue_id]) t
  cross join lateral signalbox._depths_of(t.totals) d;
  v_room := least(ceil(coalesce(v_room, v_group.queue_window)::numeric / p_sharers), 1000);
  if v_room <= 0 then
    return 0;
  end if;
  perform signalbox._renew_member(p_group_id, 'feed', 60);
  perform signalbox._balance(p_group_id, 'feed', 64);
  -- In the order of reading: the partition first that was fed longest ago, so that none starves.
  -- Partitions that all begin with a group that an open sender holds are skipped for the others.
  loop
    -- Values that append refuses by now are fed as text, or they would block what follows.
    select count(*) as messages, array_agg(signalbox._made_readable(r.payload) order by r.ordinality) as payloads,
      array_agg(signalbox._made_readable(r.attributes) order by r.ordinality) as attributes,
      array_agg(r.key order by r.ordinality) as keys,
      array_agg(signalbox._printable(r.trace_id) order by r.ordinality) as trace_ids,
      array_agg(r.partition order by r.ordinality) as partitions,
      array_agg(r.position order by r.ordinality) as positions,
      array_agg(r.epoch order by r.ordinality) as epochs,
      array_agg(decode(r.body ->> 'sha256', 'hex') order by r.ordinality) as bodies
    into v_batch
    from signalbox._read_group_messages(p_group_id, 'feed', v_room::integer, v_held) with ordinality r;
    exit when v_batch.messages = 0 or v_group.mode <> 'fifo';
    v_taken := signalbox._take_turns(v_group.queue_id, v_batch.keys);
    exit when v_taken = '{}';
    v_held := v_held || v_batch.partitions;
    -- Each partition is fed up to its first message of a group that an open sender holds.
    select count(*) as messages, array_agg(f.payload order by f.place) as payloads,
      array_agg(f.attributes order by f.place) as attributes,
      array_agg(f.key order by f.place) as keys,
      array_agg(f.trace_id order by f.place) as trace_ids,
      array_agg(f.partition order by f.place) as partitions,
      array_agg(f.position order by f.place) as positions,
      array_agg(f.epoch order by f.place) as epochs,
      array_agg(f.body order by f.place) as bodies
    into v_batch
    from (
      select r.*, min(r.place) filter (where signalbox._fifo_turn(v_group.queue_id, r.key) = any(v_taken))
        over (partition by r.partition) as first_held
      from unnest(
        v_batch.payloads, v_batch.attributes, v_batch.keys, v_batch.trace_ids, v_batch.partitions, v_batch.positions,
        v_batch.epochs, v_batch.bodies
      ) with ordinality r(payload, attributes, key, trace_id, partition, position, epoch, body, place)
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
        attributes => case when cardinality(array_remove(v_batch.attributes[:v_sent], null)) > 0
          then v_batch.attributes[:v_sent] end,
        delay_seconds => case when v_group.delay_seconds is not null
          then array_fill(v_group.delay_seconds, array[v_sent]) end,
        group_ids => case when cardinality(array_remove(v_batch.keys[:v_sent], null)) > 0
          then v_batch.keys[:v_sent] end,
        trace_ids => case when cardinality(array_remove(v_batch.trace_ids[:v_sent], null)) > 0
          then v_batch.trace_ids[:v_sent] end,
        body_sha256s => case when cardinality(array_remove(v_batch.bodies[:v_sent], null)) > 0
          then v_batch.bodies[:v_sent] end
      );
      exit;
    exception
      when sqlstate 'SB429' or sqlstate 'SB413' then
        if v_sent = 1 then
          raise;
        end if;
        -- a batch is taken whole or not at all: a limit below it would refuse it for ever
        v_sent := greatest(v_sent / 4, 1);
    end;
  end loop;
  if not (
    select bool_and(signalbox._commit_offset(p_group_id, f.partition, 'feed', f.epoch, f.position))
    from (
      select f.partition, max(f.epoch) as epoch, max(f.position) as position
      from unnest(
        v_batch.partitions[:v_sent], v_batch.positions[:v_sent], v_batch.epochs[:v_sent]
      ) f(partition, position, epoch)
      group by f.partition
    ) f
  ) then
    -- nothing was sent
    raise exception using errcode = 'SB000', message = 'the subscription was moved while it was fed';
  end if;
  return v_sent;
end $$;

