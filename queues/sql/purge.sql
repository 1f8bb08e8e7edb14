-- purge(queue, through_message_id, states, max_messages): remove messages with ids up to through_message_id (null: all
-- that exist now) from the named states; at most max_messages a call, so that one call is one small transaction.
-- Returns how many were removed: call it with the same bound until it answers 0 (null is a new bound at every call).
-- What was sent after the bound is never touched; for dead
-- letters the bound is through_dead_letter_id, so that one that dies later stays too.
-- With a removal_id (open_removal) they go to the trash, from where restore puts them back; without one they go for good.
-- SKIP LOCKED: a message that a consumer is claiming at this moment is left to it. A call that removes something writes a row of the audit.
create or replace function signalbox.purge(
  queue text,
  through_message_id bigint default null,
  states text[] default '{ready,scheduled,waiting}',
  max_messages int default 10000,
  through_dead_letter_id bigint default null,
  removal_id bigint default null
) returns bigint
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_purged bigint := signalbox._purge(
    purge.queue, purge.through_message_id, purge.states, purge.max_messages, purge.through_dead_letter_id, purge.removal_id
  );
begin
  if v_purged > 0 then
    perform signalbox._audit_verb('queue.purge', q.queue_id, q.name, jsonb_build_object(
      'states', purge.states, 'messages', v_purged, 'removal_id', purge.removal_id
    ))
    from signalbox.queue q
    where q.name = purge.queue;
  end if;
  return v_purged;
end $$;

-- The same without a row in the audit: jobs have one of their own.
create or replace function signalbox._purge(
  queue text,
  through_message_id bigint,
  states text[],
  max_messages int,
  through_dead_letter_id bigint,
  removal_id bigint
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_bound bigint := coalesce(_purge.through_message_id, pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_dead_bound bigint := coalesce(_purge.through_dead_letter_id, pg_sequence_last_value('signalbox.dead_letter_id'::regclass), 0);
  v_left integer := _purge.max_messages;
  v_purged bigint := 0;
  v_leases signalbox.lease[];
  v_ids bigint[];
  v_counts smallint[];
  v_lanes text[];
  v_outcome "char" := case when _purge.removal_id is null then 'p' else 't' end;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = _purge.queue;
  if not found then
    perform signalbox._refuse_unknown_queue(_purge.queue);
  end if;
  if _purge.max_messages is null or _purge.max_messages not between 1 and 100000 then
    perform signalbox._refuse('max_messages', format('is %s: it must be from 1 to 100000', coalesce(_purge.max_messages::text, 'null')));
  end if;
  if _purge.states is null or not _purge.states <@ array['ready', 'scheduled', 'waiting', 'leased', 'dead'] then
    perform signalbox._refuse('states', 'may have ready, scheduled, waiting, leased and dead only');
  end if;

  if _purge.removal_id is not null then
    perform signalbox._check_removal(_purge.removal_id);
  end if;
  if 'ready' = any(_purge.states) then
    with gone as (
      delete from signalbox.ready r
      where r.ctid = any(array(
        select c.ctid from signalbox.ready c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit v_left
        for update skip locked
      ))
      returning r.message_id, r.receive_count, r.priority
    ), trashed as (
      insert into signalbox.trash (removal_id, turn, message_id, queue_id, state, priority, receive_count, due_at)
      select _purge.removal_id, 0, g.message_id, v_queue_id, 'ready', g.priority, g.receive_count, null
      from gone g
      where _purge.removal_id is not null
    )
    select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id)
    into v_ids, v_counts from gone g;
    perform signalbox._settle(v_queue_id, v_outcome, 15::smallint, v_ids, v_counts);
    v_purged := v_purged + coalesce(cardinality(v_ids), 0);
    v_left := _purge.max_messages - v_purged;
  end if;
  if 'scheduled' = any(_purge.states) and v_left > 0 then
    with gone as (
      delete from signalbox.scheduled s
      where s.ctid = any(array(
        select c.ctid from signalbox.scheduled c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit v_left
        for update skip locked
      ))
      returning s.message_id, s.receive_count, s.priority, s.due_at
    ), trashed as (
      insert into signalbox.trash (removal_id, turn, message_id, queue_id, state, priority, receive_count, due_at)
      select _purge.removal_id, 0, g.message_id, v_queue_id, 'scheduled', g.priority, g.receive_count, g.due_at
      from gone g
      where _purge.removal_id is not null
    )
    select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id)
    into v_ids, v_counts from gone g;
    perform signalbox._settle(v_queue_id, v_outcome, 16::smallint, v_ids, v_counts);
    v_purged := v_purged + coalesce(cardinality(v_ids), 0);
    v_left := _purge.max_messages - v_purged;
  end if;
  if 'waiting' = any(_purge.states) and v_left > 0 then
    with gone as (
      delete from signalbox.waiting w
      where w.ctid = any(array(
        select c.ctid from signalbox.waiting c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit v_left
        for update skip locked
      ))
      returning w.message_id, w.receive_count, w.lane, w.priority, w.place
    ), trashed as (
      insert into signalbox.trash (removal_id, turn, message_id, queue_id, state, priority, receive_count, due_at)
      select _purge.removal_id, g.place, g.message_id, v_queue_id, 'waiting', g.priority, g.receive_count, null
      from gone g
      where _purge.removal_id is not null
    )
    select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id),
      array_agg(g.lane order by g.message_id)
    into v_ids, v_counts, v_lanes from gone g;
    perform signalbox._settle_waiting(v_queue_id, v_outcome, 34::smallint, v_ids, v_counts, v_lanes);
    v_purged := v_purged + coalesce(cardinality(v_ids), 0);
    v_left := _purge.max_messages - v_purged;
  end if;
  if 'leased' = any(_purge.states) and v_left > 0 then
    with gone as (
      delete from signalbox.lease l
      where l.ctid = any(array(
        select c.ctid from signalbox.lease c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit v_left
        for update skip locked
      ))
      returning l.message_id, l.receive_count, l.priority
    ), trashed as (
      insert into signalbox.trash (removal_id, turn, message_id, queue_id, state, priority, receive_count, due_at)
      select _purge.removal_id, 0, g.message_id, v_queue_id, 'leased', g.priority, g.receive_count, null
      from gone g
      where _purge.removal_id is not null
    )
    select array_agg(g.message_id order by g.message_id), array_agg(g.receive_count order by g.message_id)
    into v_ids, v_counts from gone g;
    perform signalbox._settle(v_queue_id, v_outcome, 17::smallint, v_ids, v_counts);
    v_purged := v_purged + coalesce(cardinality(v_ids), 0);
    v_left := _purge.max_messages - v_purged;
  end if;
  if _purge.removal_id is not null and v_purged > 0 then
    perform signalbox._count_trashed(_purge.removal_id, v_purged);
  end if;
  if 'dead' = any(_purge.states) and v_left > 0 then
    v_purged := v_purged + signalbox._delete_dead_letters(array(
      select d.dead_letter_id from signalbox.dead_letter d
      where d.queue_id = v_queue_id and d.dead_letter_id <= v_dead_bound
      order by d.dead_letter_id
      limit v_left
    ), 'p', 18::smallint, 26::smallint, _purge.removal_id);
  end if;
  return v_purged;
end $$;

-- Messages leave their queue without an ack: history says how ('p' purged, 'e' expired; 't' went to the trash, and history
-- has it when that is emptied), counters say from where.
create or replace function signalbox._settle(
  p_queue_id integer, p_outcome "char", p_event smallint, p_ids bigint[], p_counts smallint[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_ids is null then
    return;
  end if;
  perform signalbox._settle_unacked(p_queue_id, p_outcome, p_ids, p_counts);
  insert into signalbox.counter_delta (queue_id, event, amount) values (p_queue_id, p_event, cardinality(p_ids));
  if exists (select from signalbox.lane_slot s where s.queue_id = p_queue_id) then
    perform signalbox._leave_lanes(p_ids);
  end if;
end $$;

-- The same for messages that waited in lanes: they had no slot, and each lane counts what it lost.
create or replace function signalbox._settle_waiting(
  p_queue_id integer, p_outcome "char", p_event smallint, p_ids bigint[], p_counts smallint[], p_lanes text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_ids is null then
    return;
  end if;
  perform signalbox._settle_unacked(p_queue_id, p_outcome, p_ids, p_counts);
  insert into signalbox.counter_delta (queue_id, event, amount, lane)
  select p_queue_id, p_event, count(*), l.lane from unnest(p_lanes) l(lane) group by l.lane;
end $$;

-- What both have in common: the history, and letting go of the ids and states that these messages held.
create or replace function signalbox._settle_unacked(
  p_queue_id integer, p_outcome "char", p_ids bigint[], p_counts smallint[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._release_keys_of(p_queue_id, p_ids);
  if p_outcome = 't' then
    return; -- their states stay for when they come back
  end if;
  insert into signalbox.settled (queue_id, outcome, settled_at, message_ids, receive_counts, work_ms)
  values (p_queue_id, p_outcome, clock_timestamp(), p_ids, p_counts, '{}');
  if 0 < any(p_counts) then
    perform signalbox._forget_states(p_ids);
  end if;
end $$;
