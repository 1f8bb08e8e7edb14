-- erase_messages(erasure_id, message_ids, queue_ids, live, place): replace the contents of these messages with
-- {"erased": "<erasure_id>"} wherever they are kept: the log, kept bodies, dead letters, the trash, earlier payloads,
-- errors and stacks of failures, states and results. Ids, counters and times stay.
-- Live messages are held back (live => 'hold'), erased (live => 'redact'), or permanently deleted first, as a purge
-- does (live => 'delete'); live => 'count' only counts. A message that a consumer holds is skipped ('in_work'), as is
-- one that a redrive, a deletion or an undo holds at this moment ('busy'). Returns where each message was and what it
-- is now.
-- Each erasure is recorded, and stays open until a second call (place => 'again') after all transactions of the first
-- call have ended: a death or a copy that was open then would bring the contents back. Transactions that began before
-- the first call committed are among them, and only a later transaction can tell, so the caller waits for them. At most
-- 1000 messages a call. It waits only for transactions that copy a body at this moment, and only they wait for it.
-- Indexes: those of message_outcome, message_pkey and message_kept_pkey once for each queue,
-- dead_letter_message_id_key, trash_message, rewritten_pkey, failure_message, settled_ids (BRIN); ready_claim of the
-- queue only with 'delete'.
create or replace function signalbox.erase_messages(
  erasure_id bigint,
  message_ids bigint[],
  queue_ids integer[] default '{}',
  live text default 'hold',
  place text default 'log'
) returns table (message_id bigint, state text, before text, became text)
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
  v_states text[];
  v_live bigint[];
  v_ended bigint[];
  v_deleted bigint[] := '{}';
  v_dead bigint[];
  v_trashed bigint[];
  v_free bigint[];
  v_busy bigint[];
begin
  erase_messages.message_ids := signalbox._as_list('message_ids', erase_messages.message_ids);
  erase_messages.queue_ids := signalbox._as_list('queue_ids', erase_messages.queue_ids);
  if erase_messages.erasure_id is null then
    perform signalbox._refuse('erasure_id', 'is null: say for which erasure');
  end if;
  if erase_messages.live is null or erase_messages.live not in ('hold', 'redact', 'delete', 'count') then
    perform signalbox._refuse('live', 'must be hold, redact, delete or count');
  end if;
  if coalesce(cardinality(erase_messages.message_ids), 0) not between 1 and 1000 then
    perform signalbox._refuse('message_ids', 'must have from 1 to 1000 ids');
  end if;

  -- One statement has one snapshot, in which each message is in one place.
  select array_agg(s.id order by s.id), array_agg(s.state order by s.id),
    array_agg(s.id) filter (where s.state in ('pending', 'failed')),
    array_agg(s.id) filter (where s.state not in ('pending', 'failed', 'processing')),
    array_agg(s.id) filter (where s.state = 'dead' and s.has_letter),
    array_agg(s.id) filter (where s.state = 'trash')
  into v_ids, v_states, v_live, v_ended, v_dead, v_trashed
  from (
    select g.id, d.message_id is not null as has_letter,
      case when t.message_id is not null then 'trash' else coalesce(o.status, 'unknown') end as state
    from (select distinct i from unnest(erase_messages.message_ids) i) g(id)
    left join lateral (select p.status from signalbox.message_outcome(g.id) p limit 1) o on true
    left join signalbox.dead_letter d on d.message_id = any(array[g.id])
    left join signalbox.trash t on t.message_id = any(array[g.id])
  ) s;

  if erase_messages.live = 'count' then
    return query
    with noted as (
      insert into signalbox.erasure_find as f (erasure_id, message_id, queue_id, place, became, open)
      select erase_messages.erasure_id, u.id,
        erase_messages.queue_ids[array_position(erase_messages.message_ids, u.id)],
        erase_messages.place, 'counted', false
      from unnest(v_ids) u(id)
      on conflict do nothing
      returning f.message_id
    )
    select u.id, u.state, case when n.message_id is null then 'counted' end, 'counted'
    from unnest(v_ids, v_states) u(id, state)
    left join noted n on n.message_id = u.id;
    return;
  end if;

  -- Another transaction is about to replace the row of this message: it is skipped, and checked again later.
  v_free := array(
    select d.message_id from signalbox.dead_letter d where d.message_id = any(v_dead) order by d.dead_letter_id
      for update skip locked
  ) || array(
    select t.message_id from signalbox.trash t where t.message_id = any(v_trashed) order by t.message_id
      for update skip locked
  );
  v_busy := array(select i from unnest(v_dead || v_trashed) i where i <> all(v_free));
  if erase_messages.live = 'delete' and v_live is not null then
    v_deleted := signalbox._purge_messages(v_live);
    v_busy := v_busy || array(select i from unnest(v_live) i where i <> all(v_deleted));
    v_ended := v_ended || v_deleted;
  elsif erase_messages.live = 'redact' then
    v_ended := v_ended || v_live;
  end if;
  v_ended := array(select i from unnest(v_ended) i where i <> all(v_busy));
  if v_ended <> '{}' then
    perform signalbox._erase_everywhere(erase_messages.erasure_id, v_ended, erase_messages.queue_ids);
  end if;

  return query
  with looked as materialized (
    select u.id, u.state, f.became as before,
      case
        when u.id = any(v_deleted) or f.became = 'deleted' then 'deleted'
        when u.id = any(v_ended) then 'erased'
        when u.id = any(v_busy) then 'busy'
        when u.state = 'processing' then 'in_work'
        else 'held'
      end as became
    from unnest(v_ids, v_states) u(id, state)
    left join signalbox.erasure_find f on f.erasure_id = erase_messages.erasure_id and f.message_id = u.id
  ), noted as (
    insert into signalbox.erasure_find as f (erasure_id, message_id, queue_id, place, became)
    select erase_messages.erasure_id, l.id, erase_messages.queue_ids[array_position(erase_messages.message_ids, l.id)],
      erase_messages.place, l.became
    from looked l
    order by l.id
    on conflict (erasure_id, message_id) do update set
      became = excluded.became,
      open = excluded.became in ('in_work', 'busy') or f.became in ('in_work', 'busy')
        or f.open and (erase_messages.place <> 'again' or f.looked_in >= pg_snapshot_xmin(pg_current_snapshot())),
      looked_in = case
        when f.became in ('in_work', 'busy') or f.looked_in < pg_snapshot_xmin(pg_current_snapshot())
          then excluded.looked_in
        else f.looked_in
      end
  )
  select l.id, l.state, l.before, l.became from looked l order by l.id;
end $$;
