-- receive(queue, max_messages, ...): claim up to max_messages for visibility_timeout seconds. Never waits for another
-- consumer. Call it in a transaction of its own, and commit before the work starts: a rollback would undo the count of
-- deliveries. Where messages in flight are limited it returns no more than the limit leaves (_free_in_flight).
-- durable => false lets the commit be asynchronous; use it only where the claim is the whole transaction. It has no
-- effect in a transaction that has written before, and ends when the transaction goes on to send, append, settle or
-- claim durably. acknowledge => handles acknowledges first, as ack does, and saves a call and a commit; a row without a
-- message_id then names a handle that was no longer held. state is what the last nack stored for this delivery. body
-- names a payload that is too large for the log, by its sha256 and bytes; payload is then JSON's null.
-- Expired leases return and due messages are promoted by receive itself, so that delivery needs no other process. While
-- upkeep is alive (and does both every second) and no message waits above priority 0, that happens only when a claim
-- finds too few messages.
-- A message whose expires_at has passed (send_limited) is not returned: receive undoes the claim, and the message
-- counts as expired.
-- The paths of one call:
-- 1. Read the queue's row and its highest priority; refuse, follow an old name, or return nothing while the queue is
--    paused.
-- 2. Acknowledge what the caller names: one handle by statements written out here, several by ack.
-- 3. Look around (v_look): read all priorities, return expired leases, promote due messages, and release message groups
--    with room. It is the first thing that happens in queues with message groups or priorities, or while upkeep is not
--    alive; where groups only share the queue (_share_lanes), in one of four calls, so that groups get their turns also
--    while messages without a group are ready.
-- 4. Claim: one message by separate statements, which cost a third less; several by one statement. With several
--    priorities (v_many), _next_priority says from which to claim, and up to which time.
-- 5. When too few came: look around once; then skip messages that other consumers have locked (v_blocked), and go on
--    with the other priorities; in a dead-letter queue at last take dead letters as messages.
-- Each probe reads the start of an index, from a claim floor: claim_floor_queue, lease_deadline, scheduled_due,
-- ready_claim.
create or replace function signalbox.receive(
  queue text,
  max_messages int default 1,
  visibility_timeout double precision default null,
  consumer text default null,
  durable boolean default true,
  acknowledge text[] default null
) returns table (
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
  v_queue_id integer;
  v_visibility_seconds double precision;
  v_paused boolean;
  v_holds_dead_letters boolean;
  v_priority smallint;
  v_floor timestamptz;
  v_until timestamptz := 'infinity';
  v_wanted integer := receive.max_messages;
  v_nonce uuid := gen_random_uuid();
  v_flags smallint;
  v_look boolean;
  v_looked boolean := false;
  v_claimed_short boolean := false;
  v_now timestamptz;
  v_aging interval;
  v_bands smallint[];
  v_floors timestamptz[];
  v_many boolean := false;
  v_lease_floor timestamptz;
  v_due_floor timestamptz;
  v_some_expired boolean;
  v_some_due boolean;
  v_lane text;
  v_lanes text[];
  v_waits integer[];
  v_laned boolean;
  v_shares boolean;
  v_released integer := 0;
  v_ids bigint[];
  v_counts smallint[];
  v_first_id bigint;
  v_last_id bigint;
  v_redelivered integer;
  v_turns integer := 0;
  v_blocked smallint;
  v_aged boolean;
  v_deadline timestamptz;
  v_before text;
  v_after text;
  v_fetched integer;
  v_kept integer;
  v_expires_at timestamptz;
  v_done record;
  v_asynchronous boolean;
begin
  select q.queue_id, coalesce(receive.visibility_timeout, q.visibility_timeout_seconds),
    q.paused or q.admission_flags & {flag.holds_claims} > 0, q.is_dead_letter_queue, h.priority, h.floor,
    q.mode = 'fifo' or q.group_max_in_flight > 0,
    q.mode = 'fifo' or q.group_max_in_flight > 0 or h.priority > 0 or h.floor = '-infinity'
      or q.fair_groups and random() < 0.25,
    q.fair_groups and q.mode <> 'fifo' and q.group_max_in_flight = 0, q.admission_flags
  into v_queue_id, v_visibility_seconds, v_paused, v_holds_dead_letters, v_priority, v_floor, v_laned, v_look, v_shares,
    v_flags
  from signalbox.queue q, lateral (
    select b.kind as priority, signalbox.floor_time(b.floor) as floor
    from signalbox.claim_floor b
    where b.queue_id = q.queue_id and b.kind >= {priority.lowest}
    order by b.kind desc
    limit 1
  ) h
  where q.name = receive.queue;
  if (
    v_queue_id is not null
    and receive.max_messages between 1 and 1000
    and v_visibility_seconds between 0 and 43200
    and current_setting('transaction_isolation') = 'read committed'
  ) is not true then
    if v_queue_id is null and exists (select from signalbox.queue_alias a where a.name = receive.queue) then
      return query
      select *
      from signalbox.receive(
        signalbox._renamed(receive.queue), receive.max_messages, receive.visibility_timeout, receive.consumer,
        receive.durable,
        receive.acknowledge
      );
      return;
    end if;
    perform signalbox._refuse_claim(receive.queue, v_queue_id, receive.max_messages, receive.visibility_timeout);
  end if;
  v_asynchronous := not receive.durable and receive.acknowledge is null and pg_current_xact_id_if_assigned() is null;
  if not v_asynchronous and current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if receive.consumer is not null then
    perform signalbox._see_consumer(v_queue_id, receive.consumer);
  end if;
  if receive.acknowledge is not null then
    if cardinality(receive.acknowledge) <> 1 or array_lower(receive.acknowledge, 1) <> 1
      or array_ndims(receive.acknowledge) > 1 then
      return query
      select null::bigint, a.receipt_handle, null::int, null::jsonb, null::jsonb, null::text, null::int,
        null::timestamptz,
        null::timestamptz, null::jsonb, null::jsonb
      from signalbox.ack(receive.acknowledge) a
      where not a.acked;
    else
      -- The statements of ack, repeated: a call would cost as much as this saves.
      if (
        receive.acknowledge[1] ~ '^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,17})\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      ) is not true then
        perform signalbox._check_handles(receive.acknowledge);
      end if;
      delete from signalbox.lease l
      where l.message_id = split_part(receive.acknowledge[1], '.', 2)::bigint
        and l.nonce = split_part(receive.acknowledge[1], '.', 3)::uuid
        and l.queue_id + 0 = split_part(receive.acknowledge[1], '.', 1)::integer
      returning l.queue_id, l.message_id, l.receive_count, l.nonce, signalbox._work_ms(l.leased_at) as work_ms,
      l.consumer, l.lane into v_done;
      if found then
        insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer)
        values (
          v_done.queue_id, clock_timestamp(), array[v_done.message_id], array[v_done.receive_count],
          array[v_done.work_ms], v_done.consumer
        );
        if v_done.lane is not null then
          perform signalbox._leave_lanes(array[v_done.message_id]);
        end if;
        if signalbox._is_marked(v_done.nonce) then
          perform signalbox._release_keys(array[v_done.message_id]);
        end if;
        if v_done.receive_count > 1 then
          perform signalbox._forget_states(array[v_done.message_id]);
        end if;
      else
        receipt_handle := receive.acknowledge[1];
        return next;
        receipt_handle := null;
      end if;
    end if;
  end if;
  if v_paused then
    return;
  end if;
  if v_flags & {flag.holds_deduplication_ids} > 0 then
    v_nonce := signalbox._marked_nonce(v_nonce);
  end if;
  if v_flags & {flag.limits_in_flight} > 0 then
    v_wanted := least(v_wanted, signalbox._free_in_flight(v_queue_id));
    if v_wanted < 1 then
      return;
    end if;
  end if;
  if v_asynchronous then
    perform set_config('signalbox.durable_commit', current_setting('synchronous_commit'), true),
      set_config('synchronous_commit', 'off', true);
  end if;

  loop
    if v_look then
      -- Look around: read the priorities in use, return expired leases, promote due messages.
      v_look := false;
      v_looked := true;
      -- A constant can be an index condition; the volatile function would be a filter over all messages in flight.
      v_now := clock_timestamp();
      select q.aging_seconds * interval '1 second', heads.bands, heads.floors, heads.lease_floor, heads.due_floor,
        v_laned or heads.had_lanes, exists (
          select from signalbox.lease l
          where l.queue_id = v_queue_id and l.deadline >= heads.lease_floor and l.deadline <= v_now
        ), exists (
          select from signalbox.scheduled s
          where s.queue_id = v_queue_id and s.due_at >= heads.due_floor and s.due_at <= v_now
        )
      into v_aging, v_bands, v_floors, v_lease_floor, v_due_floor, v_laned, v_some_expired, v_some_due
      from signalbox.queue q, lateral (
        select array_agg(h.kind) filter (where h.kind >= {priority.lowest}) as bands,
          array_agg(f.at) filter (where h.kind >= {priority.lowest}) as floors,
          coalesce(max(f.at) filter (where h.kind = {floor.lease}), '-infinity') as lease_floor,
          coalesce(max(f.at) filter (where h.kind = {floor.scheduled}), '-infinity') as due_floor,
          bool_or(h.kind = {floor.lane_hint}) as had_lanes -- messages that waited when the limit was removed still wait
        from signalbox.claim_floor h, lateral (select signalbox.floor_time(h.floor) as at) f
        where h.queue_id = q.queue_id
      ) heads
      where q.queue_id = v_queue_id;
      if v_some_expired then
        perform signalbox._return_expired(v_queue_id, v_lease_floor, 100);
      end if;
      if v_some_due then
        perform signalbox._promote_due(v_queue_id, v_due_floor, 100 + v_wanted);
      end if;
      if v_laned then
        v_released := case when v_shares then signalbox._share_lanes(v_queue_id, v_wanted)
          else signalbox._promote_lanes(v_queue_id, v_wanted) end;
      end if;
      v_many := cardinality(v_bands) > 1;
      exit when v_claimed_short
        and not (v_many or v_some_expired or v_some_due or v_holds_dead_letters or v_released > 0);
      v_priority := v_bands[1];
      v_floor := v_floors[1];
    end if;
    if v_many then
      select b.priority, b.floor, b.until, b.aged
      into v_priority, v_floor, v_until, v_aged
      from signalbox._next_priority(v_queue_id, v_bands, v_floors, v_aging) b;
      -- Heads of two priorities may alternate message by message: a call that asks for many then gets fewer.
      v_turns := v_turns + 1;
      exit when v_turns > 50;
      if v_priority = v_blocked then
        v_until := 'infinity';
      end if;
      if v_priority is null then
        -- No priority has a message. A dead-letter queue goes on to its dead letters.
        exit when not v_holds_dead_letters;
        v_many := false;
        v_priority := v_bands[1];
        v_floor := v_floors[1];
        v_until := 'infinity';
      end if;
    end if;

    if v_wanted = 1 and not v_many then
      -- Separate statements cost a third less than one, which matters for a single message.
      delete from signalbox.ready r
      where r.ctid = (
        select c.ctid
        from signalbox.ready c
        where c.queue_id = v_queue_id and c.priority = v_priority and c.ready_at >= v_floor
        order by c.ready_at, c.message_id
        limit 1
        for update skip locked
      )
      returning r.message_id, least(r.receive_count + 1, 32767), r.lane,
        case when r.receive_count = 0 then array[signalbox._work_ms(r.ready_at)] end
      into message_id, receive_count, v_lane, v_waits;
      if found then
        with counted as (
          insert into signalbox.counter_delta (queue_id, event, amount, waits_ms)
            values (v_queue_id, {event.delivered}, 1, v_waits)
        )
        insert into signalbox.lease (
          message_id, queue_id, receive_count, priority, deadline, leased_at, nonce, consumer, lane
        )
        values (
          receive.message_id, v_queue_id, receive.receive_count, v_priority,
          greatest(clock_timestamp() + v_visibility_seconds * interval '1 second', signalbox.clock_time()),
          clock_timestamp(), v_nonce, receive.consumer, v_lane
        )
        returning lease.deadline into deadline;
        if receive.receive_count > 1 then
          insert into signalbox.counter_delta (queue_id, event, amount) values (v_queue_id, {event.redelivered}, 1);
          state := signalbox._state_of(receive.message_id);
        end if;
        select v_queue_id || '.' || m.message_id || '.' || v_nonce, m.payload, m.attributes, m.group_id, m.priority,
          m.sent_at,
          signalbox._body_of(m.body_sha256, m.body_bytes), m.expires_at
        into receipt_handle, payload, attributes, group_id, priority, sent_at, body, v_expires_at
        from signalbox.message m
        where m.queue_id = v_queue_id and m.message_id = receive.message_id;
        if not found then
          select v_queue_id || '.' || k.message_id || '.' || v_nonce, k.payload, k.attributes, k.group_id, k.priority,
            k.sent_at,
            signalbox._body_of(k.body_sha256, k.body_bytes), k.expires_at
          into receipt_handle, payload, attributes, group_id, priority, sent_at, body, v_expires_at
          from signalbox._kept_bodies(v_queue_id, array[receive.message_id]) k;
        end if;
        if v_expires_at <= clock_timestamp() then
          perform signalbox._expire_claimed(v_queue_id, array[receive.message_id], v_nonce, clock_timestamp());
          state := null;
          v_turns := v_turns + 1;
          exit when v_turns > 50;
          continue;
        end if;
        return next;
        return;
      end if;
      v_ids := null;
    else
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
        returning r.message_id, r.receive_count, r.lane, r.ready_at
      )
      select array_agg(p.message_id), array_agg(p.receive_count), array_agg(p.lane),
        array_agg(signalbox._work_ms(p.ready_at)) filter (where p.receive_count = 0),
        count(*) filter (where p.receive_count > 0), min(p.message_id), max(p.message_id)
      into v_ids, v_counts, v_lanes, v_waits, v_redelivered, v_first_id, v_last_id
      from picked p;
      if v_ids is not null then
        insert into signalbox.counter_delta (queue_id, event, amount, waits_ms)
          values (v_queue_id, {event.delivered}, cardinality(v_ids), v_waits);
        with moment as materialized (
          select signalbox.clock_time() as at,
            clock_timestamp() + v_visibility_seconds * interval '1 second' as deadline
        ), leased as (
          insert into signalbox.lease (
            message_id, queue_id, receive_count, priority, deadline, leased_at, nonce, consumer, lane
          )
          select p.message_id, v_queue_id, least(p.receive_count + 1, 32767), v_priority,
            greatest(m.deadline, m.at), m.at, v_nonce, receive.consumer, p.lane
          from moment m, unnest(v_ids, v_counts, v_lanes) p(message_id, receive_count, lane)
        )
        select greatest(m.deadline, m.at) into v_deadline from moment m;
      end if;
    end if;

    if v_ids is not null then
      if v_many and v_aged then
        insert into signalbox.counter_delta (queue_id, event, amount)
          values (v_queue_id, {event.aged}, cardinality(v_ids));
      end if;
      if v_redelivered > 0 then
        insert into signalbox.counter_delta (queue_id, event, amount)
          values (v_queue_id, {event.redelivered}, v_redelivered);
      end if;
      v_before := v_queue_id || '.';
      v_after := '.' || v_nonce;
      v_now := clock_timestamp();
      return query
      select m.message_id, v_before || m.message_id || v_after,
        case when v_redelivered = 0 then 1 else least(v_counts[array_position(v_ids, m.message_id)] + 1, 32767) end,
        m.payload, m.attributes, m.group_id, m.priority::int, m.sent_at, v_deadline,
        case when v_redelivered > 0 and v_counts[array_position(v_ids, m.message_id)] > 0
          then signalbox._state_of(m.message_id) end,
        signalbox._body_of(m.body_sha256, m.body_bytes)
      from signalbox.message m
      where m.queue_id = v_queue_id and m.message_id = any(v_ids) and m.message_id between v_first_id and v_last_id
        and (m.expires_at is null or m.expires_at > v_now)
      order by m.message_id;
      get diagnostics v_fetched = row_count;
      if v_fetched < cardinality(v_ids) then
        return query
        select k.message_id, v_before || k.message_id || v_after,
          least(v_counts[array_position(v_ids, k.message_id)] + 1, 32767),
          k.payload, k.attributes, k.group_id, k.priority::int, k.sent_at, v_deadline,
          case when v_counts[array_position(v_ids, k.message_id)] > 0 then signalbox._state_of(k.message_id) end,
          signalbox._body_of(k.body_sha256, k.body_bytes)
        from signalbox._kept_bodies(v_queue_id, v_ids) k
        where k.expires_at is null or k.expires_at > v_now;
        get diagnostics v_kept = row_count;
        v_fetched := v_fetched + v_kept;
        if v_fetched < cardinality(v_ids) then
          perform signalbox._expire_claimed(v_queue_id, v_ids, v_nonce, v_now);
          v_turns := v_turns + 1;
          exit when v_turns > 50;
          v_wanted := v_wanted - v_fetched;
          continue;
        end if;
      end if;
      v_wanted := v_wanted - cardinality(v_ids);
      exit when v_wanted = 0 or (v_looked and not v_many and not v_holds_dead_letters);
    end if;
    if not v_looked then
      v_look := true;
      v_claimed_short := true;
    elsif v_ids is null and v_many then
      -- Another consumer holds the first messages. Look past them once, then go on with the other priorities.
      if v_until < 'infinity' then
        v_blocked := v_priority;
        continue;
      end if;
      select array_agg(b.priority), array_agg(b.floor)
      into v_bands, v_floors
      from unnest(v_bands, v_floors) b(priority, floor)
      where b.priority <> v_priority;
      v_many := cardinality(v_bands) > 1;
      v_priority := v_bands[1];
      v_floor := v_floors[1];
      v_until := 'infinity';
    elsif v_ids is null then
      exit when not v_holds_dead_letters;
      v_holds_dead_letters := false;
      exit when signalbox._receive_dead_letters(v_queue_id, v_wanted) = 0;
      v_priority := 0;
      v_floor := '-infinity';
      v_until := 'infinity';
    end if;
  end loop;
end $$;
