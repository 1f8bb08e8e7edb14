-- _replay(queue, archived_ids, payloads, ...): send messages of the archive anew, at most 1000, each as a message of its own with
-- an id of its own. One row for each: the id that it has now, or why it is kept back: deduplication (its id is known, or
-- is being sent with at this moment), too_large for the queue, unreadable for clients, large_body_gone from the store. Options as for send_batch; limits
-- are asked for all that go, and refuse all of them (_admit). Where they came from is noted in redriven, by the archived id
-- made negative in place of a dead letter's, so that settle_redriven finds out what becomes of them.
-- Locks: those of send_batch; ids and large bodies are taken where they are free, never waited for.
-- Indexes: dedup_key, dedup_in_flight_pkey, large_body_pkey, ready_claim.
create or replace function signalbox._replay(
  queue text,
  archived_ids bigint[],
  payloads jsonb[],
  attributes jsonb[] default null,
  priorities int[] default null,
  group_ids text[] default null,
  deduplication_ids text[] default null,
  trace_ids text[] default null,
  body_sha256s bytea[] default null,
  fingerprints text[] default null,
  redrive_id bigint default null,
  actor text default null
) returns table (archived_id bigint, message_id bigint, kept_because text)
language plpgsql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue record;
  v_kept text[];
  v_going int[];
  v_ids bigint[];
  v_began timestamptz := clock_timestamp();
begin
  if cardinality(_replay.archived_ids) > 1000 then
    perform signalbox._refuse('archived_ids', format('has %s entries: at most 1000 are replayed at once', cardinality(_replay.archived_ids)));
  end if;
  select q.queue_id, q.max_payload_bytes into v_queue from signalbox.queue q where q.name = _replay.queue;
  if not found then
    perform signalbox._refuse_unknown_queue(_replay.queue);
  end if;
  v_kept := array(
    select case
        when coalesce(
            signalbox._unreadable(_replay.payloads[i], _replay.payloads[i]::text),
            signalbox._unreadable(_replay.attributes[i], _replay.attributes[i]::text)
          ) is not null
          then 'unreadable'
        else signalbox._kept_back(
          v_queue.queue_id, v_queue.max_payload_bytes, _replay.payloads[i], _replay.deduplication_ids[i], _replay.body_sha256s[i],
          _replay.deduplication_ids[i] = any(_replay.deduplication_ids[:i - 1])
        )
      end
    from generate_series(1, cardinality(_replay.archived_ids)) i
    order by i
  );
  v_going := array(select i from generate_series(1, cardinality(_replay.archived_ids)) i where v_kept[i] is null order by i);
  if cardinality(v_going) > 0 then
    v_ids := array(
      select s.sent
      from signalbox.send_batch(
        _replay.queue,
        array(select _replay.payloads[i] from unnest(v_going) with ordinality g(i, place) order by g.place),
        case when num_nonnulls(variadic _replay.attributes) > 0 then
          array(select _replay.attributes[i] from unnest(v_going) with ordinality g(i, place) order by g.place) end,
        case when exists (select from unnest(_replay.priorities) p where p <> 0) then
          array(select _replay.priorities[i] from unnest(v_going) with ordinality g(i, place) order by g.place) end,
        null,
        case when num_nonnulls(variadic _replay.group_ids) > 0 then
          array(select _replay.group_ids[i] from unnest(v_going) with ordinality g(i, place) order by g.place) end,
        case when num_nonnulls(variadic _replay.deduplication_ids) > 0 then
          array(select _replay.deduplication_ids[i] from unnest(v_going) with ordinality g(i, place) order by g.place) end,
        case when num_nonnulls(variadic _replay.trace_ids) > 0 then
          array(select signalbox._printable(_replay.trace_ids[i]) from unnest(v_going) with ordinality g(i, place) order by g.place) end,
        case when num_nonnulls(variadic _replay.body_sha256s) > 0 then
          array(select _replay.body_sha256s[i] from unnest(v_going) with ordinality g(i, place) order by g.place) end
      ) with ordinality s(sent, place)
      order by s.place
    );
    perform signalbox._note_replayed(
      v_queue.queue_id, v_began, v_ids,
      array(select _replay.archived_ids[i] from unnest(v_going) with ordinality g(i, place) order by g.place),
      array(select coalesce(_replay.priorities[i], 0) from unnest(v_going) with ordinality g(i, place) order by g.place),
      array(select _replay.fingerprints[i] from unnest(v_going) with ordinality g(i, place) order by g.place),
      _replay.redrive_id, _replay.actor
    );
  end if;
  return query
  select _replay.archived_ids[g.i], v_ids[g.place], null::text from unnest(v_going) with ordinality g(i, place)
  union all
  select _replay.archived_ids[i], null, v_kept[i] from generate_series(1, cardinality(v_kept)) i where v_kept[i] is not null;
end $$;

-- Why one of them does not go; null: it goes, and holds the locks of its deduplication id and its body until the transaction ends.
create or replace function signalbox._kept_back(
  p_queue_id integer, p_most_bytes bigint, p_payload jsonb, p_deduplication_id text, p_body_sha256 bytea, p_repeats boolean
) returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if octet_length(p_payload::text) > p_most_bytes or p_body_sha256 is not null and p_most_bytes < 262144 then
    return 'too_large';
  end if;
  if p_body_sha256 is not null then
    perform from signalbox.large_body b where b.sha256 = p_body_sha256 for key share skip locked;
    if not found then
      return 'large_body_gone';
    end if;
  end if;
  if p_deduplication_id is not null then
    if p_repeats or not pg_try_advisory_xact_lock(p_queue_id, hashtext(p_deduplication_id)) then
      return 'deduplication';
    end if;
    if exists (
      select from signalbox.dedup_in_flight k where k.queue_id = p_queue_id and k.deduplication_id = p_deduplication_id
    ) or exists (
      select from signalbox.dedup d
      where d.queue_id = p_queue_id and d.deduplication_id = p_deduplication_id and d.expires_at > clock_timestamp()
        and d.sent_at > clock_timestamp() - interval '24 hours'
    ) then
      return 'deduplication';
    end if;
  end if;
  return null;
end $$;

-- Each beside its redrive, with the time of its ticket, by which it is known to be ready still (settle_redriven).
create or replace function signalbox._note_replayed(
  p_queue_id integer, p_began timestamptz, p_ids bigint[], p_archived_ids bigint[], p_priorities int[], p_fingerprints text[],
  p_redrive_id bigint, p_actor text
) returns void
language sql
set enable_seqscan = off
set enable_nestloop = on
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.redriven (redrive_id, dead_letter_id, message_id, queue_id, redriven_at, actor, fingerprint, priority)
  select p_redrive_id, -g.archived_id, g.message_id, p_queue_id, coalesce(t.ready_at, clock_timestamp()), p_actor, g.fingerprint, g.priority
  from unnest(p_ids, p_archived_ids, p_priorities, p_fingerprints) with ordinality
    g(message_id, archived_id, priority, fingerprint, place)
  left join (
    select r.message_id, r.ready_at
    from (select distinct p as priority from unnest(p_priorities) p) band
    cross join lateral (
      select r.message_id, r.ready_at
      from signalbox.ready r
      where r.queue_id = p_queue_id and r.priority = band.priority and r.ready_at >= p_began
      offset 0
    ) r
  ) t on t.message_id = g.message_id
  order by g.place
$$;
