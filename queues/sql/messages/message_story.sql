-- message_story(message_id): one message as it was sent, its state as message_outcome says it, and its last 100
-- deliveries, oldest first: a JSON array of objects with receive_count, leased_at, ended_at (null: in flight),
-- consumer, and for a failed one reason, error_class, error and details. A deferred one has the reason deferred. No row
-- when the message is unknown or its retention is over. A payload that is kept in a body store is JSON's null. Indexes:
-- those of message_outcome, failure_message, deferral_message, settled_recent at one moment, message_pkey of the one
-- queue.
create or replace function signalbox.message_story(message_id bigint)
returns table (
  queue text,
  status text,
  outcome text,
  settled_at timestamptz,
  result jsonb,
  payload jsonb,
  attributes jsonb,
  group_id text,
  priority int,
  sent_at timestamptz,
  deliveries jsonb
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  select o.queue, o.status, o.outcome, o.settled_at, o.result
  into queue, status, outcome, settled_at, result
  from signalbox.message_outcome(message_story.message_id) o;
  if status is null then
    return;
  end if;
  select sent.payload, sent.attributes, sent.group_id, sent.priority, sent.sent_at
  into payload, attributes, group_id, priority, sent_at
  from (
    select m.payload, m.attributes, m.group_id, m.priority, m.sent_at
    from signalbox.queue q
    join signalbox.message m on m.queue_id = q.queue_id and m.message_id = message_story.message_id
    where q.name = queue
    union all
    select k.payload, k.attributes, k.group_id, k.priority, k.sent_at
    from signalbox.queue q
    join signalbox.message_kept k on k.queue_id = q.queue_id and k.message_id = message_story.message_id
    where q.name = queue
    union all
    select d.payload, d.attributes, d.group_id, d.priority, d.sent_at
    from signalbox.dead_letter d
    where d.message_id = message_story.message_id
    union all
    select d.payload, d.attributes, d.group_id, d.priority, d.sent_at
    from signalbox.trash t, jsonb_populate_record(null::signalbox.dead_letter, t.letter) d
    where t.message_id = message_story.message_id and t.letter is not null
  ) sent
  limit 1;
  select coalesce(jsonb_agg(to_jsonb(d) order by d.leased_at, d.ended_at nulls last), '[]')
  into deliveries
  from (
    select f.*
    from (
      select f.receive_count, coalesce(f.leased_at, f.failed_at) as leased_at, f.failed_at as ended_at, f.consumer,
        f.reason, f.error_class, f.error, f.details
      from signalbox.failure f
      where f.message_id = message_story.message_id
      order by f.failed_at desc
      limit 100
    ) f
    union all
    select f.*
    from (
      select d.receive_count, d.leased_at, d.deferred_at, d.consumer, 'deferred', null, null, null
      from signalbox.deferral d
      where d.message_id = message_story.message_id
      order by d.deferred_at desc
      limit 100
    ) f
    union all
    select l.receive_count, l.leased_at, null, l.consumer, null, null, null, null
    from signalbox.lease l
    where l.message_id = message_story.message_id
    union all
    select s.receive_counts[a.at], s.settled_at - s.work_ms[a.at] * interval '1 millisecond', s.settled_at, s.consumer,
      null, null, null, null
    from signalbox.queue q
    join signalbox.settled s on s.queue_id = q.queue_id
    cross join lateral (select array_position(s.message_ids, message_story.message_id) as at) a
    where q.name = queue
      and s.settled_at = message_story.settled_at
      and s.outcome = {outcome.acked}
      and message_story.message_id = any(s.message_ids)
  ) d;
  return next;
end $$;
