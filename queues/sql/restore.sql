-- restore(removal_id, after_turn, after_message_id, max_messages): put messages of a removal back, in their old order behind the
-- cursor; call it with what it returns until last_turn is null. Dead letters are dead again, with all their story; what was
-- ready or in flight can be received, what rested goes on resting until it is due, and where groups are limited a message takes the
-- last place of its lane; a dead letter holds its FIFO group again where nothing of it is under way (block_lane_on_dead).
-- Deliveries and states are kept. Left in the trash, and counted as skipped: whose queue is gone, and whose
-- deduplication id another message holds, or is being sent with at this moment.
-- What comes back was accepted once: a closed queue takes it. Until this commits, its queues cannot be deleted.
-- Locks the removal, rows in order, then the queues (_keep_queue). Nobody waits for an id. Indexes: trash_pkey, trash_message (by any: see ack).
create or replace function signalbox.restore(
  removal_id bigint,
  after_turn bigint default -1,
  after_message_id bigint default -1,
  max_messages int default 1000
) returns table (restored bigint, skipped bigint, last_turn bigint, last_message_id bigint)
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
  v_ids bigint[];
  v_kept bigint[];
  v_blank signalbox.dead_letter; -- what a letter's null stands for
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if restore.max_messages is null or restore.max_messages not between 1 and 100000 then
    perform signalbox._refuse('max_messages', format('is %s: it must be from 1 to 100000', coalesce(restore.max_messages::text, 'null')));
  end if;
  perform from signalbox.removal r where r.removal_id = restore.removal_id for update;
  if not found then
    perform signalbox._check_removal(restore.removal_id);
  end if;
  select array_agg(p.message_id order by p.turn, p.message_id), max(p.turn)
  into v_ids, last_turn
  from (
    select t.turn, t.message_id
    from signalbox.trash t
    where t.removal_id = restore.removal_id and (t.turn, t.message_id) > (restore.after_turn, restore.after_message_id)
    order by t.turn, t.message_id
    limit restore.max_messages
    for update
  ) p;
  if v_ids is null then
    restored := 0;
    skipped := 0;
    return next;
    return;
  end if;
  last_message_id := v_ids[cardinality(v_ids)];
  perform signalbox._keep_queue(k.queue_id)
  from (
    select t.queue_id from signalbox.trash t where t.message_id = any(v_ids)
    union
    select (t.letter ->> 'queue_id')::integer from signalbox.trash t where t.message_id = any(v_ids) and t.letter is not null
  ) k;
  v_kept := signalbox._hold_keys_again(v_ids);
  perform signalbox._use_priority(u.queue_id, u.priority)
  from (
    select distinct t.queue_id, t.priority from signalbox.trash t where t.message_id = any(v_ids) and t.letter is null
  ) u;

  v_blank.payload := 'null';
  -- Before they leave the trash: by that it is known that they did not die again (_count_deaths).
  insert into signalbox.dead_letter
  select l.*
  from signalbox.trash t
  cross join lateral jsonb_populate_record(
    v_blank, case when t.letter -> 'payload' = 'null' then t.letter - 'payload' else t.letter end
  ) l
  where t.message_id = any(v_ids) and t.message_id <> all(v_kept) and t.letter is not null
  order by l.dead_letter_id;
  with gone as materialized (
    delete from signalbox.trash t where t.message_id = any(v_ids) and t.message_id <> all(v_kept) returning t.*
  ), letters as materialized (
    select (g.letter ->> 'queue_id')::integer as queue_id, (g.letter ->> 'source_queue_id')::integer as source_queue_id
    from gone g
    where g.letter is not null
  ), placed as materialized (
    select g.turn, g.message_id, g.queue_id, g.priority, g.receive_count, g.due_at,
      g.state = 'scheduled' and g.due_at > clock_timestamp() as rests,
      signalbox._lane_of(q.mode, q.lane_max_in_flight, b.group_id) as lane
    from gone g
    join signalbox.queue q on q.queue_id = any(array[g.queue_id])
    cross join lateral signalbox._body_facts(g.queue_id, g.message_id) b
    where g.letter is null
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select p.queue_id, p.event, count(*), case when p.event = 42 then p.lane end
    from (
      select d.queue_id, d.lane, case when d.rests then 41 when d.lane is null then 40 else 42 end::smallint as event from placed d
    ) p
    group by p.queue_id, p.event, case when p.event = 42 then p.lane end
    union all
    select l.source_queue_id, 43::smallint, count(*), null from letters l group by l.source_queue_id
    union all
    select l.queue_id, 44::smallint, count(*), null from letters l group by l.queue_id
  ), moment as materialized (
    select signalbox.clock_time() as at
  ), readied as (
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select p.queue_id, p.priority, p.receive_count, m.at, p.message_id
    from moment m, placed p
    where not p.rests and p.lane is null
  ), resting as (
    insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id, lane)
    select p.queue_id, p.priority, p.receive_count, greatest(p.due_at, m.at), p.message_id, p.lane
    from moment m, placed p
    where p.rests
  ), waiting as (
    insert into signalbox.waiting (queue_id, lane, priority, receive_count, message_id)
    select p.queue_id, p.lane, p.priority, p.receive_count, p.message_id
    from placed p
    where not p.rests and p.lane is not null
    order by p.turn, p.message_id
  ), hinted as (
    insert into signalbox.lane_hint (queue_id, lane)
    select distinct p.queue_id, p.lane from placed p where not p.rests and p.lane is not null
  )
  select count(*) into restored from gone;
  perform signalbox._hold_groups_again(v_ids);
  skipped := cardinality(v_ids) - restored;
  -- What somebody is putting back does not run out under his hands.
  update signalbox.removal r
  set restored = r.restored + restore.restored, expires_at = greatest(r.expires_at, clock_timestamp() + interval '1 hour')
  where r.removal_id = restore.removal_id;
  return next;
end $$;

-- Dead letters that are back hold their FIFO groups, as they did before they were deleted: the first of each group, unless
-- another message of it is ready or in flight by now, or somebody lets one go at this moment. Never waits.
-- Indexes: dead_letter_message_id_key (by any: see ack), lane_slot_lane.
create or replace function signalbox._hold_groups_again(p_message_ids bigint[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
begin
  for v_letter in
    select d.source_queue_id as queue_id, coalesce(d.group_id, '') as lane, min(d.message_id) as message_id
    from signalbox.dead_letter d
    join signalbox.queue q on q.queue_id = any(array[d.source_queue_id]) and q.block_lane_on_dead
    where d.message_id = any(p_message_ids)
    group by d.source_queue_id, coalesce(d.group_id, '')
    order by 1, 2
  loop
    -- Who lets a message of the lane go holds this lock (_promote_lanes).
    if signalbox._holds_groups(v_letter.queue_id)
      and pg_try_advisory_xact_lock(hashtextextended(v_letter.queue_id || ':' || v_letter.lane, 2))
    then
      with held as (
        insert into signalbox.lane_slot (message_id, queue_id, lane)
        select v_letter.message_id, v_letter.queue_id, v_letter.lane
        where not exists (
          select from signalbox.lane_slot s where s.queue_id = v_letter.queue_id and s.lane = v_letter.lane
        )
        returning queue_id, lane
      )
      insert into signalbox.counter_delta (queue_id, event, amount, lane)
      select h.queue_id, 48::smallint, -1, h.lane from held h; -- what left the lane is in it again
    end if;
  end loop;
end $$;

-- Group and body of a trashed message, from the log or where it was kept. One that has neither is an error, never a silent row.
create or replace function signalbox._body_facts(p_queue_id integer, p_message_id bigint)
returns table (group_id text, deduplication_id text, payload jsonb, attributes jsonb, body_sha256 bytea)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select m.group_id, m.deduplication_id, m.payload, m.attributes, m.body_sha256
  from signalbox.message m
  where m.queue_id = p_queue_id and m.message_id = p_message_id
  union all
  select k.group_id, k.deduplication_id, k.payload, k.attributes, k.body_sha256
  from signalbox.message_kept k
  where k.queue_id = p_queue_id and k.message_id = p_message_id
  limit 1;
  if not found then
    raise exception using
      errcode = 'data_corrupted',
      message = format('message %s is in the trash and has no body', p_message_id);
  end if;
end $$;

-- Messages that come back take the ids they held before, where messages hold ids. Returns which may not come back: whose id
-- another message holds, and, first of all, whose queue is gone.
create or replace function signalbox._hold_keys_again(p_message_ids bigint[]) returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_message record;
  v_kept bigint[] := array(
    select t.message_id
    from signalbox.trash t
    where t.message_id = any(p_message_ids)
      and (
        not exists (select from signalbox.queue q where q.queue_id = t.queue_id)
        or t.letter is not null and not exists (select from signalbox.queue q where q.queue_id = (t.letter ->> 'queue_id')::integer)
      )
  );
begin
  for v_message in
    select t.message_id, t.queue_id, t.priority, b.group_id, b.deduplication_id, b.attributes, b.body_sha256,
      -- What its sender sent, as _retake_keys has it.
      coalesce(
        (select w.payload from signalbox.rewritten w where w.message_id = t.message_id order by w.dead_letter_id limit 1), b.payload
      ) as payload
    from signalbox.trash t
    join signalbox.queue q on q.queue_id = any(array[t.queue_id]) and q.dedup_scope = 'in_flight'
    cross join lateral signalbox._body_facts(t.queue_id, t.message_id) b
    where t.message_id = any(p_message_ids) and t.letter is null and b.deduplication_id is not null
    order by t.message_id
  loop
    if pg_try_advisory_xact_lock(v_message.queue_id, hashtext(v_message.deduplication_id)) then
      -- Looks before it inserts: beside an ack that has not committed yet, an insert would wait.
      perform from signalbox.dedup_in_flight k
      where k.queue_id = v_message.queue_id and k.deduplication_id = v_message.deduplication_id;
      if not found then
        perform signalbox._hold_key(
          v_message.queue_id, v_message.deduplication_id, v_message.message_id, v_message.payload, v_message.attributes,
          v_message.priority, v_message.group_id, v_message.body_sha256
        );
        continue;
      end if;
    end if;
    v_kept := v_kept || v_message.message_id;
  end loop;
  return v_kept;
end $$;
