-- message_outcome(message_id): where one message stands, and how it ended: no row when it is unknown or its retention is
-- over. Status is in the words of message_status, and purged or expired where that has no word; outcome is null while it
-- may still be delivered, then acked, purged, expired or dead (until it is redriven); result is what its ack left.
-- Never walks the tickets that are ready: what is known and nowhere else is ready. All of it as of one moment (stable).
-- Indexes: lease_pkey, scheduled_message, waiting_message, dead_letter_message_id_key, trash_message, message_pkey once for each
-- queue, settled_ids (BRIN) on the days since it was sent.
create or replace function signalbox.message_outcome(message_id bigint)
returns table (
  queue text,
  status text,
  outcome text,
  receive_count int,
  settled_at timestamptz,
  result jsonb
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
declare
  v_queue_id integer;
  v_sent_at timestamptz;
begin
  select l.queue_id, 'processing', l.receive_count
  into v_queue_id, status, receive_count
  from signalbox.lease l
  where l.message_id = message_outcome.message_id;
  if v_queue_id is null then
    select s.queue_id, case when s.receive_count = 0 then 'pending' else 'failed' end, s.receive_count
    into v_queue_id, status, receive_count
    from signalbox.scheduled s
    where s.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select w.queue_id, case when w.receive_count = 0 then 'pending' else 'failed' end, w.receive_count
    into v_queue_id, status, receive_count
    from signalbox.waiting w
    where w.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select d.source_queue_id, 'dead', 'dead', d.receive_count, d.died_at
    into v_queue_id, status, outcome, receive_count, settled_at
    from signalbox.dead_letter d
    where d.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select t.queue_id, 'purged', 'purged', t.receive_count, t.trashed_at
    into v_queue_id, status, outcome, receive_count, settled_at
    from signalbox.trash t
    where t.message_id = message_outcome.message_id;
  end if;
  if v_queue_id is null then
    select b.queue_id, b.sent_at into v_queue_id, v_sent_at from signalbox._log_of(message_outcome.message_id) b;
    if v_queue_id is null then
      return;
    end if;
    select e.queue_id, e.status, e.outcome, e.receive_count, e.settled_at, e.result
    into v_queue_id, status, outcome, receive_count, settled_at, result
    from signalbox._ending_of(v_queue_id, message_outcome.message_id, v_sent_at) e;
    if status is null then
      return;
    end if;
  end if;
  select q.name into queue from signalbox.queue q where q.queue_id = v_queue_id;
  return next;
end $$;

-- The queue in whose log a message is, or where it was kept last, and when it was sent: one probe for each queue.
create or replace function signalbox._log_of(p_message_id bigint)
returns table (queue_id integer, sent_at timestamptz)
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
  return query
  select q.queue_id, found.sent_at
  from signalbox.queue q
  cross join lateral (
    select k.sent_at, k.kept_at
    from signalbox.message_kept k
    where k.queue_id = q.queue_id and k.message_id = p_message_id
    union all
    select m.sent_at, '-infinity'
    from signalbox.message m
    where m.queue_id = q.queue_id and m.message_id = p_message_id
  ) found
  order by found.kept_at desc
  limit 1;
end $$;

-- How a message ended that is in the log and in no table of those under way but, perhaps, ready.
create or replace function signalbox._ending_of(p_queue_id integer, p_message_id bigint, p_sent_at timestamptz)
returns table (queue_id integer, status text, outcome text, receive_count int, settled_at timestamptz, result jsonb)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_died_at timestamptz;
  v_tomorrow timestamptz := clock_timestamp() + interval '1 day'; -- beyond it are days that are only prepared
begin
  return query
  select s.queue_id, o.status, o.outcome, s.receive_counts[a.at]::int, s.settled_at, s.results[a.at]
  from signalbox.settled s
  cross join lateral (select array_position(s.message_ids, p_message_id) as at) a
  join (values ('a'::"char", 'completed', 'acked'), ('p', 'purged', 'purged'), ('e', 'expired', 'expired'))
    o(letter, status, outcome) on o.letter = s.outcome
  where s.settled_at >= p_sent_at - interval '1 hour' and s.settled_at <= v_tomorrow -- clocks differ and are set back
    and s.message_ids[1] <= p_message_id
    and s.message_ids[cardinality(s.message_ids)] >= p_message_id
    and p_message_id = any(s.message_ids)
  order by s.settled_at desc
  limit 1;
  if found then
    return;
  end if;
  -- A dead letter that a consumer took from its dead-letter queue went on as another message: this one stays dead.
  select f.failed_at
  into v_died_at
  from (
    select f.failed_at, f.retry_at
    from signalbox.failure f
    where f.message_id = p_message_id and f.failed_at >= p_sent_at - interval '1 hour' and f.failed_at <= v_tomorrow
    order by f.failed_at desc
    limit 1
  ) f
  where f.retry_at is null
    and not exists (
      select
      from signalbox.redriven r
      join signalbox.message_kept k on k.queue_id = r.queue_id and k.message_id = r.message_id -- it went on as itself
      where r.message_id = p_message_id and r.redriven_at >= f.failed_at
    );
  if found then
    return query select p_queue_id, 'dead', 'dead', null::int, v_died_at, null::jsonb;
    return;
  end if;
  -- History goes a day at a time, perhaps before the log that names its messages: of one that old, ask its ticket.
  if p_sent_at > clock_timestamp() - signalbox.history_kept() or exists (
    select from signalbox.ready r where r.queue_id = p_queue_id and r.message_id = p_message_id
  ) then
    return query select p_queue_id, 'pending', null::text, null::int, null::timestamptz, null::jsonb;
  end if;
end $$;
