-- Acknowledge handles of several claims, or handles with results. The leases are found by one index scan over the
-- message ids, in their order, so that overlapping acks never wait in a circle. The nonce and the queue of a lease are
-- compared with those at the id's place in the sorted handles; with whole handles when two of them name one message.
create or replace function signalbox._ack_claims(p_handles text[], p_results jsonb[] default null)
returns table (receipt_handle text, acked boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_given record; -- its arrays stay flat, so that to read one element copies nothing
  v_distinct boolean;
  v_done record;
  v_gone bigint[] := '{}';
  v_handles text[];
  v_lane text;
  v_again boolean := false;
begin
  perform signalbox._check_handles(p_handles);
  select array_agg(distinct g.message_id) as ids, array_agg(g.nonce::uuid order by g.message_id) as nonces,
    array_agg(g.queue_id order by g.message_id) as queues, array_agg(g.result order by g.message_id) as results,
    bool_or(split_part(g.nonce, '-', 3) like '8%') as marked -- as _is_marked
  into v_given
  from (
    select split_part(h, '.', 1)::integer as queue_id, split_part(h, '.', 2)::bigint as message_id,
      split_part(h, '.', 3) as nonce, result
    from unnest(p_handles, p_results) given(h, result)
  ) g;
  v_distinct := cardinality(v_given.ids) = cardinality(p_handles);
  for v_done in
    with gone as (
      delete from signalbox.lease l
      where l.message_id = any(v_given.ids)
        and case when v_distinct then l.nonce = v_given.nonces[width_bucket(l.message_id, v_given.ids)]
            and l.queue_id = v_given.queues[width_bucket(l.message_id, v_given.ids)]
          else l.queue_id || '.' || l.message_id || '.' || l.nonce = any(p_handles) end
      returning l.message_id, l.queue_id, l.receive_count, signalbox._work_ms(l.leased_at) as ms, l.consumer, l.lane,
        l.nonce,
        case when p_results is null then null
          when v_distinct then v_given.results[width_bucket(l.message_id, v_given.ids)]
          else p_results[array_position(p_handles, l.queue_id || '.' || l.message_id || '.' || l.nonce)]
        end as result
    )
    select g.queue_id, array_agg(g.message_id order by g.message_id) as ids,
      array_agg(g.receive_count order by g.message_id) as counts, array_agg(g.ms order by g.message_id) as work_ms,
      array_agg(g.result order by g.message_id) filter (where p_results is not null) as results,
      array_agg(g.nonce order by g.message_id) as nonces, max(g.consumer) as consumer, max(g.lane) as lane
    from gone g
    group by g.queue_id
  loop
    insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer, results)
    values (
      v_done.queue_id, clock_timestamp(), v_done.ids, v_done.counts, v_done.work_ms, v_done.consumer, v_done.results
    );
    if v_gone <> '{}' or cardinality(v_done.ids) < cardinality(p_handles) then
      v_handles := v_handles || array(
        select v_done.queue_id || '.' || g.message_id || '.' || g.nonce
        from unnest(v_done.ids, v_done.nonces) g(message_id, nonce)
      );
    end if;
    v_gone := v_gone || v_done.ids;
    v_lane := coalesce(v_lane, v_done.lane);
    v_again := v_again or 1 < any(v_done.counts);
  end loop;
  if v_lane is not null then
    perform signalbox._leave_lanes(v_gone);
  end if;
  if v_given.marked and v_gone <> '{}' then
    perform signalbox._release_keys(v_gone);
  end if;
  if v_again then
    perform signalbox._forget_states(v_gone);
  end if;

  if cardinality(v_gone) = cardinality(p_handles) then
    return query select h, true from unnest(p_handles) h;
  else
    if not p_handles <@ coalesce(v_handles, '{}') then
      perform signalbox._refuse_older_snapshot('ack');
    end if;
    return query select h, coalesce(h = any(v_handles), false) from unnest(p_handles) h;
  end if;
end $$;
