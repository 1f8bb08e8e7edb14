-- Deduplication ids in the scope in_flight: a message holds its id until it is acked, dead, purged or expired.
-- _held_key: which message holds this id? Null: none, send it. Takes the same advisory lock as _deduplicate, then looks
-- in a new statement. An ack that has not committed holds on to the id still. Index: dedup_in_flight_pkey.
create or replace function signalbox._held_key(
  p_queue_id integer,
  p_deduplication_id text,
  p_payload jsonb,
  p_attributes jsonb,
  p_priority int,
  p_group_id text,
  p_body_sha256 bytea default null
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first_id bigint;
  v_hash bytea;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('send with a deduplication id');
  end if;
  perform pg_advisory_xact_lock(p_queue_id, hashtext(p_deduplication_id));
  select k.message_id, k.request_hash
  into v_first_id, v_hash
  from signalbox.dedup_in_flight k
  where k.queue_id = p_queue_id and k.deduplication_id = p_deduplication_id;
  if not found then
    return null;
  end if;
  if v_hash <> signalbox._request_hash(p_payload, p_attributes, p_priority, p_group_id, p_body_sha256) then
    perform signalbox._refuse_other_body(p_deduplication_id, v_first_id);
  end if;
  perform signalbox._count(p_queue_id, 21::smallint, 1);
  return v_first_id;
end $$;

-- The message has been sent and holds its id from now on. The caller has the id's lock.
create or replace function signalbox._hold_key(
  p_queue_id integer,
  p_deduplication_id text,
  p_message_id bigint,
  p_payload jsonb,
  p_attributes jsonb,
  p_priority int,
  p_group_id text,
  p_body_sha256 bytea default null
) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.dedup_in_flight (queue_id, deduplication_id, message_id, request_hash)
  values (
    p_queue_id, p_deduplication_id, p_message_id,
    signalbox._request_hash(p_payload, p_attributes, p_priority, p_group_id, p_body_sha256)
  )
$$;

-- A claim of a queue whose messages may hold ids is marked in its nonce (a UUID of version 8 where others have 4), so that
-- ack, which has the nonce in hand, asks for ids there and nowhere else.
create or replace function signalbox._marked_nonce(p_nonce uuid) returns uuid
language sql immutable
begin atomic
  select overlay(p_nonce::text placing '8' from 15 for 1)::uuid;
end;

create or replace function signalbox._is_marked(p_nonce uuid) returns boolean
language sql immutable
begin atomic
  select get_byte(uuid_send(p_nonce), 6) / 16 = 8;
end;

-- These messages are settled or dead: what ids they held are free. Only the holder of a message's ticket comes here, so
-- nobody waits. Index: dedup_in_flight_message.
create or replace function signalbox._release_keys(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.dedup_in_flight k where k.message_id = any(p_message_ids);
end $$;

-- The same where nobody has asked yet whether the queue's messages hold ids.
create or replace function signalbox._release_keys_of(p_queue_id integer, p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from signalbox.queue q where q.queue_id = p_queue_id and q.dedup_scope = 'in_flight') then
    perform signalbox._release_keys(p_message_ids);
  end if;
end $$;

-- Dead letters that go to a queue where messages hold ids take theirs again; the others go as they are. Returns which may
-- go: a letter whose id another message holds, or is being sent with at this moment, stays dead, and one that somebody
-- else has in hand is theirs. Never waits for an id.
create or replace function signalbox._retake_keys(p_dead_letter_ids bigint[], p_target_queue_id integer) returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
  v_kept bigint[] := '{}';
begin
  for v_letter in
    select d.dead_letter_id, d.message_id, d.deduplication_id, d.attributes, d.priority, d.group_id, d.body_sha256, q.queue_id,
      -- What its sender sent, and may send again, whatever a redrive made of it.
      coalesce(
        (select w.payload from signalbox.rewritten w where w.message_id = d.message_id order by w.dead_letter_id limit 1), d.payload
      ) as payload
    from signalbox.dead_letter d
    join signalbox.queue q on q.queue_id = any(array[coalesce(p_target_queue_id, d.source_queue_id)])
    where d.dead_letter_id = any(p_dead_letter_ids)
      and d.deduplication_id is not null
      and q.dedup_scope = 'in_flight'
    order by d.dead_letter_id
  loop
    perform from signalbox.dead_letter d where d.dead_letter_id = v_letter.dead_letter_id for update skip locked;
    if found and pg_try_advisory_xact_lock(v_letter.queue_id, hashtext(v_letter.deduplication_id)) then
      -- Looks before it inserts: beside an ack that has not committed yet, an insert would wait.
      perform from signalbox.dedup_in_flight k
      where k.queue_id = v_letter.queue_id and k.deduplication_id = v_letter.deduplication_id;
      if not found then
        perform signalbox._hold_key(
          v_letter.queue_id, v_letter.deduplication_id, v_letter.message_id, v_letter.payload, v_letter.attributes,
          v_letter.priority, v_letter.group_id, v_letter.body_sha256
        );
        continue;
      end if;
    end if;
    v_kept := v_kept || v_letter.dead_letter_id;
  end loop;
  if v_kept = '{}' then
    return p_dead_letter_ids;
  end if;
  return array(select i from unnest(p_dead_letter_ids) i where i <> all(v_kept));
end $$;

-- A queue's scope has changed: it begins with no ids. One that an ack is about to free is left to it.
create or replace function signalbox._forget_keys(p_queue_id integer) returns void
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from signalbox.dedup_in_flight k
  where k.ctid = any(array(
    select h.ctid from signalbox.dedup_in_flight h where h.queue_id = p_queue_id for update skip locked
  ));
  delete from signalbox.dedup d where d.queue_id = p_queue_id;
end $$;

-- drop_lost_keys(): free ids whose message is nowhere any more, five thousand a call. There are none, but for a claim that
-- began before the queue's scope changed. Reads the tickets once, like drop_kept; hence seldom. Returns how many.
create or replace function signalbox.drop_lost_keys() returns bigint
language plpgsql
set enable_nestloop = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dropped bigint;
begin
  if not exists (select from signalbox.dedup_in_flight) then
    return 0;
  end if;
  delete from signalbox.dedup_in_flight d
  where d.ctid = any(array(
    select k.ctid
    from signalbox.dedup_in_flight k
    where not exists (select from signalbox.lease l where l.message_id = k.message_id)
      and not exists (select from signalbox.scheduled s where s.message_id = k.message_id)
      and not exists (select from signalbox.ready r where r.message_id = k.message_id)
      and not exists (select from signalbox.waiting w where w.message_id = k.message_id)
    limit 5000
    for update of k skip locked
  ));
  get diagnostics v_dropped = row_count;
  return v_dropped;
end $$;
