-- Turn messages whose leases the caller has just deleted into dead letters: self-contained rows with body, cause and
-- history, so that they outlive the log. Records the last failure of each. Makes the dead-letter queue when there is
-- none. Indexes: message_pkey, failure_message, redriven_message.
create or replace function signalbox._dead_letter(
  p_queue_id integer,
  p_leases signalbox.lease[],
  p_reason text,
  p_error_class text,
  p_error text,
  p_details text
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_dead_letter_queue_id integer := signalbox._dead_letter_queue(p_queue_id);
  v_now timestamptz := clock_timestamp();
  v_fingerprint text := signalbox.fingerprint(p_reason, p_error_class, p_error, p_details);
  v_buried integer;
begin
  insert into signalbox.failure (
    queue_id, message_id, receive_count, leased_at, failed_at, retry_at, reason, error_class, error, details,
    fingerprint, consumer
  )
  select p_queue_id, l.message_id, l.receive_count, l.leased_at, v_now, null, p_reason,
    p_error_class, p_error, p_details, v_fingerprint, l.consumer
  from unnest(p_leases) l;

  insert into signalbox.dead_letter (
    message_id, queue_id, source_queue_id, source_queue, payload, attributes, group_id, deduplication_id, trace_id,
    priority, sent_at, receive_count, first_failed_at, last_failed_at, reason, error_class, error, details,
    fingerprint, consumer, died_at, redrive_count, redrive_history, state, body_sha256, body_bytes
  )
  select l.message_id, v_dead_letter_queue_id, p_queue_id, q.name,
    body.payload, body.attributes, body.group_id, body.deduplication_id, body.trace_id,
    l.priority, body.sent_at, l.receive_count,
    coalesce(
      (
        select min(f.failed_at)
        from signalbox.failure f
        where f.message_id = l.message_id and f.failed_at >= body.sent_at
      ),
      v_now
    ),
    v_now, p_reason, p_error_class, p_error, p_details, v_fingerprint, l.consumer, v_now,
    story.times, story.history,
    (select s.state from signalbox.message_state s where s.message_id = l.message_id),
    body.body_sha256, body.body_bytes
  from unnest(p_leases) l
  join signalbox.queue q on q.queue_id = p_queue_id
  cross join lateral (
    select m.payload, m.attributes, m.group_id, m.deduplication_id, m.trace_id, m.sent_at, m.body_sha256, m.body_bytes
    from signalbox.message m
    where m.queue_id = p_queue_id and m.message_id = l.message_id
    union all
    select k.payload, k.attributes, k.group_id, k.deduplication_id, k.trace_id, k.sent_at, k.body_sha256, k.body_bytes
    from signalbox.message_kept k
    where k.queue_id = p_queue_id and k.message_id = l.message_id
    limit 1
  ) body
  cross join lateral (
    select count(*)::integer as times,
      coalesce(jsonb_agg(jsonb_build_object(
        'redrive_id', r.redrive_id, 'redriven_at', r.redriven_at, 'actor', r.actor, 'queue_id', r.queue_id
      ) order by r.redriven_at), '[]') as history
    from signalbox.redriven r
    where r.message_id = l.message_id
  ) story
  order by l.message_id;
  get diagnostics v_buried = row_count;
  perform signalbox._forget_states(array(select l.message_id from unnest(p_leases) l)); -- dead letters have them
  if v_buried <> cardinality(p_leases) then
    raise exception using
      errcode = 'data_corrupted',
      message = format('%s of %s dying messages have no body', cardinality(p_leases) - v_buried, cardinality(p_leases));
  end if;
  insert into signalbox.counter_delta (queue_id, event, amount)
  values
    (p_queue_id, case p_reason when 'rejected' then {event.dead_rejected}
      when 'runtime_error' then {event.dead_runtime_error} else {event.dead_lock_expired} end, v_buried),
    (v_dead_letter_queue_id, {event.held}, v_buried);
  perform signalbox._release_keys_of(p_queue_id, array(select l.message_id from unnest(p_leases) l));
  if exists (select from unnest(p_leases) l where l.lane is not null) and not signalbox._holds_groups(p_queue_id) then
    perform signalbox._leave_lanes(array(select l.message_id from unnest(p_leases) l)); -- frees the groups
  end if;
end $$;
