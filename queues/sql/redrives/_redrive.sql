-- Redrive dead letters as redrive does, with other payloads for some of them: a JSON object by dead-letter id. The
-- earlier payload is kept beside the message (rewritten). Where the log still has the earlier body its row is deleted,
-- or it would be delivered in place of the new one. Dead letters of a part of a queue that another cell takes are
-- skipped (_redrivable_here).
create or replace function signalbox._redrive(
  dead_letter_ids bigint[],
  target_queue text,
  redrive_id bigint,
  actor text,
  payloads jsonb
) returns table (dead_letter_id bigint, message_id bigint, queue_id int)
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
  v_target_queue_id integer;
  v_closed boolean;
  v_closed_queue text;
  v_is_placed boolean;
  v_ids bigint[];
begin
  if _redrive.target_queue is not null then
    select q.queue_id, q.closed, q.admission_flags & {flag.is_placed} > 0
    into v_target_queue_id, v_closed, v_is_placed
    from signalbox.queue q
    where q.name = _redrive.target_queue;
    if not found then
      perform signalbox._refuse_unknown_queue(_redrive.target_queue);
    end if;
    if v_closed then
      perform signalbox._refuse_closed(_redrive.target_queue);
    end if;
  end if;
  if _redrive.target_queue is null then
    select min(q.name) filter (where q.closed), bool_or(q.admission_flags & {flag.is_placed} > 0)
    into v_closed_queue, v_is_placed
    from (
      -- A probe for each: before PostgreSQL 17 an index in the order of queues, read whole, may seem cheaper.
      select distinct l.queue_id
      from unnest(_redrive.dead_letter_ids) i
      cross join lateral (
        select d.source_queue_id as queue_id from signalbox.dead_letter d where d.dead_letter_id = i offset 0
      ) l
    ) source
    join signalbox.queue q on q.queue_id = any(array[source.queue_id]);
    if v_closed_queue is not null then
      perform signalbox._refuse_closed(v_closed_queue);
    end if;
  end if;
  perform signalbox._check_readable('payload', p.value) from jsonb_each(_redrive.payloads) p;
  perform signalbox._use_priority(u.queue_id, u.priority)
  from (
    select distinct coalesce(v_target_queue_id, d.source_queue_id) as queue_id, d.priority
    from signalbox.dead_letter d
    where d.dead_letter_id = any(_redrive.dead_letter_ids)
  ) u;
  v_ids := _redrive.dead_letter_ids;
  if v_is_placed then
    v_ids := signalbox._redrivable_here(v_ids, v_target_queue_id);
  end if;
  v_ids := signalbox._retake_keys(v_ids, v_target_queue_id);
  perform signalbox._leave_log(v_ids, v_target_queue_id, _redrive.payloads);
  return query
  with picked as materialized (
    select d.dead_letter_id
    from signalbox.dead_letter d
    where d.dead_letter_id = any(v_ids)
    order by d.dead_letter_id
    for update skip locked
  ), gone as (
    delete from signalbox.dead_letter d
    using picked p
    where d.dead_letter_id = any(array[p.dead_letter_id])
    returning d.*, coalesce(v_target_queue_id, d.source_queue_id) as target_queue_id
  ), placed as materialized (
    select g.dead_letter_id, g.message_id, g.priority, g.target_queue_id,
      signalbox._lane_of(q.mode, q.group_max_in_flight > 0 or q.fair_groups, g.group_id) as lane,
      g.target_queue_id = g.source_queue_id and exists (
        select from signalbox.lane_slot s where s.message_id = any(array[g.message_id])
      ) as holds
    from gone g
    join signalbox.queue q on q.queue_id = any(array[g.target_queue_id])
  ), kept as (
    insert into signalbox.message_kept as k (
      message_id, queue_id, payload, attributes, group_id, deduplication_id, trace_id, priority, sent_at,
      body_sha256, body_bytes, expires_at
    )
    select g.message_id, g.target_queue_id,
      coalesce(_redrive.payloads -> g.dead_letter_id::text, g.payload), g.attributes, g.group_id, g.deduplication_id,
      g.trace_id, g.priority, g.sent_at,
      g.body_sha256, g.body_bytes,
      (select o.expires_at from signalbox.message_limit o where o.message_id = any(array[g.message_id]))
    from gone g
    on conflict (queue_id, message_id) do update set kept_at = clock_timestamp(), payload = excluded.payload
  ), limited as (
    update signalbox.message_limit o
    set queue_id = p.target_queue_id
    from placed p
    where o.message_id = any(array[p.message_id]) and o.queue_id <> p.target_queue_id
  ), moment as materialized (
    select signalbox.clock_time() as at
  ), rewritten as (
    insert into signalbox.rewritten (message_id, dead_letter_id, redrive_id, rewritten_at, payload)
    select g.message_id, g.dead_letter_id, _redrive.redrive_id, clock_timestamp(), g.payload
    from gone g
    where _redrive.payloads ? g.dead_letter_id::text
  ), noted as (
    insert into signalbox.redriven (
      redrive_id, dead_letter_id, message_id, queue_id, redriven_at, actor, fingerprint, priority
    )
    select _redrive.redrive_id, g.dead_letter_id, g.message_id, g.target_queue_id, m.at, _redrive.actor, g.fingerprint,
      g.priority
    from gone g, moment m
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select g.source_queue_id, {event.redriven}, count(*), null from gone g group by g.source_queue_id
    union all
    select g.queue_id, {event.released}, count(*), null from gone g group by g.queue_id
    union all
    select p.target_queue_id, case when p.waits_in is null then {event.redriven_in}
      else {event.redriven_waiting} end, count(*), p.waits_in
    from (select d.*, case when not d.holds then d.lane end as waits_in from placed d) p
    group by p.target_queue_id, p.waits_in
  ), readied as (
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id, lane)
    select p.target_queue_id, p.priority, 0::smallint, m.at, p.message_id, p.lane
    from moment m, placed p
    where p.lane is null or p.holds
  ), waiting as (
    insert into signalbox.waiting (queue_id, lane, priority, receive_count, message_id)
    select p.target_queue_id, p.lane, p.priority, 0::smallint, p.message_id
    from placed p
    where p.lane is not null and not p.holds
    order by p.dead_letter_id
  ), hinted as (
    insert into signalbox.lane_hint (queue_id, lane)
    select distinct p.target_queue_id, p.lane from placed p where p.lane is not null and not p.holds
  ), left_behind as (
    -- Sent to another queue, it no longer holds the group where it died.
    delete from signalbox.lane_slot s
    using placed p
    where s.message_id = any(array[p.message_id]) and (s.queue_id <> p.target_queue_id or p.lane is null)
    returning s.queue_id, s.lane
  ), hinted_behind as (
    insert into signalbox.lane_hint (queue_id, lane) select distinct l.queue_id, l.lane from left_behind l
  ), counted_behind as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select l.queue_id, {event.left_lane}, count(*), l.lane from left_behind l group by l.queue_id, l.lane
  )
  select g.dead_letter_id, g.message_id, g.target_queue_id from gone g order by g.dead_letter_id;
end $$;
