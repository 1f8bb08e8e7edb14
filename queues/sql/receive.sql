-- receive(queue, max_messages, ...): claim up to max_messages for visibility_timeout seconds; nobody waits for anybody.
-- First it returns expired leases and promotes due messages of this queue, so delivery needs no other process.
-- Call it in a transaction of its own, and commit before the work starts: a rollback would un-count the delivery.
-- durable => false lets the commit be asynchronous; only where the claim is the whole transaction.
-- Every probe is the head of an index, from a floor: head_queue, lease_deadline, scheduled_due, ready_claim.
create or replace function signalbox.receive(
  queue text,
  max_messages int default 1,
  visibility_timeout double precision default null,
  consumer text default null,
  durable boolean default true
) returns table (
  message_id bigint,
  receipt_handle text,
  receive_count int,
  payload jsonb,
  attributes jsonb,
  group_id text,
  priority int,
  sent_at timestamptz,
  deadline timestamptz
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_visibility_seconds double precision;
  v_visibility interval;
  v_aging interval;
  v_paused boolean;
  v_holds_dead_letters boolean;
  v_bands smallint[];
  v_floors timestamptz[];
  v_lease_floor timestamptz;
  v_due_floor timestamptz;
  v_some_expired boolean;
  v_some_due boolean;
  v_wanted integer := receive.max_messages;
  v_nonce uuid := gen_random_uuid();
  v_priority smallint;
  v_floor timestamptz;
  v_until timestamptz;
  v_ids bigint[];
  v_counts smallint[];
  v_redelivered integer;
  v_turns integer := 0;
  v_blocked smallint;
  v_deadline timestamptz;
  v_fetched integer;
begin
  select q.queue_id, coalesce(receive.visibility_timeout, q.visibility_timeout_seconds),
    q.aging_seconds * interval '1 second', q.paused, q.is_dead_letter_queue,
    heads.bands, heads.floors, heads.lease_floor, heads.due_floor
  into v_queue_id, v_visibility_seconds, v_aging, v_paused, v_holds_dead_letters,
    v_bands, v_floors, v_lease_floor, v_due_floor
  from signalbox.queue q, lateral (
    select array_agg(h.kind) filter (where h.kind < 10) as bands,
      array_agg(f.at) filter (where h.kind < 10) as floors,
      coalesce(max(f.at) filter (where h.kind = 10), '-infinity') as lease_floor,
      coalesce(max(f.at) filter (where h.kind = 11), '-infinity') as due_floor
    from signalbox.head h, lateral (select signalbox.floor_time(h.floor) as at) f
    where h.queue_id = q.queue_id
  ) heads
  where q.name = receive.queue;
  if not found then
    perform signalbox._refuse_unknown_queue(receive.queue);
  end if;
  if receive.max_messages is null or receive.max_messages not between 1 and 1000 then
    perform signalbox._refuse('max_messages', format('is %s: it must be from 1 to 1000', receive.max_messages));
  end if;
  if not v_visibility_seconds between 0 and 43200 then
    perform signalbox._refuse('visibility_timeout', format('is %s: it must be from 0 to 43200 seconds', receive.visibility_timeout));
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('receive');
  end if;
  if receive.consumer is not null then
    perform signalbox._see_consumer(v_queue_id, receive.consumer);
  end if;
  if v_paused then
    return;
  end if;
  v_visibility := v_visibility_seconds * interval '1 second';
  if not receive.durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;

  select exists (
      select from signalbox.lease l
      where l.queue_id = v_queue_id and l.deadline >= v_lease_floor and l.deadline <= clock_timestamp()
    ), exists (
      select from signalbox.scheduled s
      where s.queue_id = v_queue_id and s.due_at >= v_due_floor and s.due_at <= clock_timestamp()
    )
  into v_some_expired, v_some_due;
  if v_some_expired then
    perform signalbox._return_expired(v_queue_id, v_lease_floor, 100);
  end if;
  if v_some_due then
    perform signalbox._promote_due(v_queue_id, v_due_floor, 100 + v_wanted);
  end if;

  v_priority := v_bands[1];
  v_floor := v_floors[1];
  v_until := 'infinity';
  loop
    if cardinality(v_bands) > 1 then
      select b.priority, b.floor, b.until
      into v_priority, v_floor, v_until
      from signalbox._best_band(v_queue_id, v_bands, v_floors, v_aging) b;
      -- Heads of two priorities may alternate message by message: a call that asks for many then gets fewer.
      v_turns := v_turns + 1;
      exit when v_turns > 50;
      if v_priority = v_blocked then
        v_until := 'infinity';
      end if;
      if v_priority is null then
        -- Nothing waits in any of them. A dead-letter queue goes on to what it holds.
        exit when not v_holds_dead_letters;
        v_bands := v_bands[1:1];
        v_priority := v_bands[1];
        v_floor := v_floors[1];
        v_until := 'infinity';
      end if;
    end if;

    with picked as (
      delete from signalbox.ready r
      where r.ctid = any(array(
        select c.ctid
        from signalbox.ready c
        where c.queue_id = v_queue_id
          and c.priority = v_priority
          and c.ready_at >= v_floor
          and c.ready_at <= v_until
        order by c.ready_at, c.message_id
        limit v_wanted
        for update skip locked
      ))
      returning r.message_id, r.receive_count
    ), moment as materialized (
      select signalbox.clock_time() as at
    ), leased as (
      insert into signalbox.lease (message_id, queue_id, receive_count, priority, deadline, leased_at, nonce, consumer)
      select p.message_id, v_queue_id, least(p.receive_count + 1, 32767), v_priority,
        greatest(clock_timestamp() + v_visibility, m.at), m.at, v_nonce, receive.consumer
      from moment m, picked p
      returning lease.message_id, lease.receive_count, lease.deadline
    ), counted as (
      insert into signalbox.counter_delta (queue_id, event, amount)
      select v_queue_id, 3::smallint, count(*) from picked having count(*) > 0
    )
    select array_agg(l.message_id order by l.message_id), array_agg(l.receive_count order by l.message_id),
      count(*) filter (where l.receive_count > 1), min(l.deadline)
    into v_ids, v_counts, v_redelivered, v_deadline
    from leased l;

    if v_ids is null then
      -- Somebody else holds what was at the head. Look past it once, then go on with the other bands.
      if cardinality(v_bands) > 1 and v_until < 'infinity' then
        v_blocked := v_priority;
        continue;
      end if;
      if cardinality(v_bands) > 1 then
        select array_agg(b.priority), array_agg(b.floor)
        into v_bands, v_floors
        from unnest(v_bands, v_floors) b(priority, floor)
        where b.priority <> v_priority;
        if cardinality(v_bands) = 1 then
          v_priority := v_bands[1];
          v_floor := v_floors[1];
          v_until := 'infinity';
        end if;
        continue;
      end if;
      exit when not v_holds_dead_letters;
      v_holds_dead_letters := false;
      exit when signalbox._receive_dead_letters(v_queue_id, v_wanted) = 0;
      v_priority := 0;
      v_floor := '-infinity';
      v_until := 'infinity';
      continue;
    end if;
    if v_redelivered > 0 then
      insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, 4::smallint, v_redelivered);
    end if;

    return query
    select m.message_id,
      v_queue_id || '.' || m.message_id || '.' || v_nonce,
      v_counts[array_position(v_ids, m.message_id)]::int,
      m.payload, m.attributes, m.group_id, m.priority::int, m.sent_at, v_deadline
    from signalbox.message m
    where m.queue_id = v_queue_id
      and m.message_id = any(v_ids)
      and m.message_id between v_ids[1] and v_ids[cardinality(v_ids)]
    order by m.message_id;
    get diagnostics v_fetched = row_count;
    if v_fetched < cardinality(v_ids) then
      return query
      select k.message_id,
        v_queue_id || '.' || k.message_id || '.' || v_nonce,
        v_counts[array_position(v_ids, k.message_id)]::int,
        k.payload, k.attributes, k.group_id, k.priority::int, k.sent_at, v_deadline
      from signalbox._kept_bodies(v_queue_id, v_ids) k;
    end if;
    v_wanted := v_wanted - cardinality(v_ids);
    exit when v_wanted = 0 or (cardinality(v_bands) = 1 and not v_holds_dead_letters);
  end loop;
end $$;
