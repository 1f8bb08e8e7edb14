-- _replay(queue, archived_ids, payloads, ...): send messages of the archive again, at most 1000, each as a new message
-- with its own id. One row for each: its new id, or why it is held back: deduplication (its id is known, or is being
-- sent with at this moment), too_large for the queue, unreadable for clients, large_body_gone from the store. Options
-- as for send_batch; limits are checked for all messages together: all of them are sent, or the call is refused
-- (_admit). Their origin is noted in redriven, by the negative archived id in place of a dead letter's, so that
-- settle_redriven finds their outcomes. Locks: those of send_batch; deduplication ids and large bodies are taken where
-- they are free, and never waited for. Indexes: dedup_key, dedup_in_flight_pkey, large_body_pkey, ready_claim.
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
    perform signalbox._refuse(
      'archived_ids', format('has %s entries: at most 1000 are replayed at once', cardinality(_replay.archived_ids))
    );
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
          v_queue.queue_id, v_queue.max_payload_bytes, _replay.payloads[i], _replay.deduplication_ids[i],
          _replay.body_sha256s[i],
          _replay.deduplication_ids[i] = any(_replay.deduplication_ids[:i - 1])
        )
      end
    from generate_series(1, cardinality(_replay.archived_ids)) i
    order by i
  );
  v_going := array(
    select i from generate_series(1, cardinality(_replay.archived_ids)) i where v_kept[i] is null order by i
  );
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
          array(
            select _replay.deduplication_ids[i] from unnest(v_going) with ordinality g(i, place) order by g.place
          ) end,
        case when num_nonnulls(variadic _replay.trace_ids) > 0 then
          array(
            select signalbox._printable(_replay.trace_ids[i])
            from unnest(v_going) with ordinality g(i, place)
            order by g.place
          ) end,
        case when num_nonnulls(variadic _replay.body_sha256s) > 0 then
          array(select _replay.body_sha256s[i] from unnest(v_going) with ordinality g(i, place) order by g.place) end
      ) with ordinality s(sent, place)
      order by s.place
    );
    perform signalbox._note_replayed(
      v_queue.queue_id, v_began, v_ids,
      array(select _replay.archived_ids[i] from unnest(v_going) with ordinality g(i, place) order by g.place),
      array(
        select coalesce(_replay.priorities[i], 0) from unnest(v_going) with ordinality g(i, place) order by g.place
      ),
      array(select _replay.fingerprints[i] from unnest(v_going) with ordinality g(i, place) order by g.place),
      _replay.redrive_id, _replay.actor
    );
  end if;
  return query
  select _replay.archived_ids[g.i], v_ids[g.place], null::text from unnest(v_going) with ordinality g(i, place)
  union all
  select _replay.archived_ids[i], null, v_kept[i] from generate_series(1, cardinality(v_kept)) i
    where v_kept[i] is not null;
end $$;
