-- Acknowledge handles of several claims, or handles with results.
create or replace function signalbox._ack_claims(p_handles text[], p_results jsonb[] default null)
returns table (receipt_handle text, acked boolean)
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
  v_gone text[];
  v_laned bigint[];
  v_marked bigint[];
  v_again bigint[];
begin
  perform signalbox._check_handles(p_handles);
  with given as materialized (
    select h as handle, split_part(h, '.', 1)::integer as queue_id, split_part(h, '.', 2)::bigint as message_id,
      split_part(h, '.', 3)::uuid as nonce, result
    from unnest(p_handles, p_results) given(h, result)
    order by 3
  ), gone as (
    delete from signalbox.lease l
    using given g
    where l.message_id = any(array[g.message_id]) and l.nonce = g.nonce and l.queue_id + 0 = g.queue_id
    returning l.message_id, l.queue_id, l.receive_count, l.leased_at, l.consumer, l.lane, l.nonce, g.handle, g.result
  ), kept as (
    insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer, results)
    select g.queue_id, clock_timestamp(),
      array_agg(g.message_id order by g.message_id),
      array_agg(g.receive_count order by g.message_id),
      array_agg(signalbox._work_ms(g.leased_at) order by g.message_id),
      max(g.consumer),
      array_agg(g.result order by g.message_id) filter (where p_results is not null)
    from gone g
    group by g.queue_id
  )
  select array_agg(g.handle), array_agg(g.message_id) filter (where g.lane is not null),
    array_agg(g.message_id) filter (where signalbox._is_marked(g.nonce)),
    array_agg(g.message_id) filter (where g.receive_count > 1)
  into v_gone, v_laned, v_marked, v_again
  from gone g;
  if v_laned is not null then
    perform signalbox._leave_lanes(v_laned);
  end if;
  if v_marked is not null then
    perform signalbox._release_keys(v_marked);
  end if;
  if v_again is not null then
    perform signalbox._forget_states(v_again);
  end if;

  if cardinality(v_gone) = cardinality(p_handles) then
    return query select h, true from unnest(p_handles) h;
  else
    if not p_handles <@ coalesce(v_gone, '{}') then
      perform signalbox._refuse_older_snapshot('ack');
    end if;
    return query select h, coalesce(h = any(v_gone), false) from unnest(p_handles) h;
  end if;
end $$;
