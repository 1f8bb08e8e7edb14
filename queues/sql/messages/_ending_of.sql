-- How a message ended. The message is in the log, and in no table of live messages except, perhaps, ready.
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
  v_tomorrow timestamptz := clock_timestamp() + interval '1 day'; -- later partitions are prepared and empty
begin
  return query
  select s.queue_id, o.status, o.outcome, s.receive_counts[a.at]::int, s.settled_at, s.results[a.at]
  from signalbox.settled s
  cross join lateral (select array_position(s.message_ids, p_message_id) as at) a
  join (
    values ({outcome.acked}, 'completed', 'acked'), ({outcome.purged}, 'purged', 'purged'),
    ({outcome.expired}, 'expired', 'expired')
  )
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
  -- A day of history may be dropped before the log that has its messages: then the ticket of the message decides.
  if p_sent_at > clock_timestamp() - signalbox.history_kept() or exists (
    select from signalbox.ready r where r.queue_id = p_queue_id and r.message_id = p_message_id
  ) then
    return query select p_queue_id, 'pending', null::text, null::int, null::timestamptz, null::jsonb;
  end if;
end $$;
