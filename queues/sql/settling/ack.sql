-- ack(receipt_handles, results): acknowledge messages whose work is done. Returns for each handle, in the order given,
-- whether the lease was still held. results are one JSON value or null for each handle, at most 64 KB each, and history
-- keeps them. Deletes the leases and appends one row of history for each queue. A handle of an earlier lease
-- acknowledges nothing.
-- Handles of one claim differ only in the message id, so taking one apart is taking apart all of them. Locks the leases
-- in order of message id, so that overlapping acks never wait in a circle. Index: lease_pkey.
create or replace function signalbox.ack(receipt_handles text[], results jsonb[] default null)
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
  v_queue text := split_part(ack.receipt_handles[1], '.', 1);
  v_claim text := split_part(ack.receipt_handles[1], '.', 3);
  v_list text;
  v_queue_id integer;
  v_nonce uuid;
  v_id bigint;
  v_ids bigint[];
  v_consumer text;
  v_count smallint;
  v_ms integer;
  v_lane text;
  v_gone bigint[];
  v_counts smallint[];
  v_work_ms integer[];
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if array_lower(ack.receipt_handles, 1) <> 1 or array_ndims(ack.receipt_handles) > 1 or array_ndims(ack.results) > 1
    then
    return query
    select a.receipt_handle, a.acked
    from signalbox.ack(
      signalbox._as_list('receipt_handles', ack.receipt_handles), signalbox._as_list('results', ack.results)
    ) a;
    return;
  end if;
  if ack.results is not null then
    perform signalbox._check_results(ack.results, cardinality(ack.receipt_handles));
    return query select a.receipt_handle, a.acked from signalbox._ack_claims(ack.receipt_handles, ack.results) a;
    return;
  end if;
  if cardinality(ack.receipt_handles) = 1 then
    receipt_handle := ack.receipt_handles[1];
    begin
      v_queue_id := v_queue;
      v_nonce := v_claim;
      v_id := split_part(receipt_handle, '.', 2);
    exception
      when data_exception then
        perform signalbox._check_handles(ack.receipt_handles);
    end;
    if receipt_handle is null or v_queue_id || '.' || v_id || '.' || v_nonce <> receipt_handle then
      perform signalbox._check_handles(ack.receipt_handles); -- refuses a form that a cast accepts
    end if;
    delete from signalbox.lease l
    where l.message_id = v_id and l.nonce = v_nonce and l.queue_id + 0 = v_queue_id
    returning l.receive_count, signalbox._work_ms(l.leased_at), l.consumer, l.lane
    into v_count, v_ms, v_consumer, v_lane;
    acked := found;
    if found then
      insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer)
      values (v_queue_id, clock_timestamp(), array[v_id], array[v_count], array[v_ms], v_consumer);
      if v_lane is not null then
        perform signalbox._leave_lanes(array[v_id]);
      end if;
      if signalbox._is_marked(v_nonce) then
        perform signalbox._release_keys(array[v_id]);
      end if;
      if v_count > 1 then
        perform signalbox._forget_states(array[v_id]);
      end if;
    else
      perform signalbox._refuse_older_snapshot('ack');
    end if;
    return next;
    return;
  end if;

  -- The handles without the queue and nonce of the first one; a dot is left where a handle is of another claim.
  v_list := trim(',' from replace(
    replace(',' || array_to_string(ack.receipt_handles, ',', '.') || ',', ',' || v_queue || '.', ','),
    '.' || v_claim || ',', ','
  ));
  if strpos(v_list, '.') > 0 or v_list is null then
    return query select a.receipt_handle, a.acked from signalbox._ack_claims(ack.receipt_handles) a;
    return;
  end if;
  begin
    v_queue_id := v_queue;
    v_nonce := v_claim;
    v_ids := string_to_array(v_list, ',');
  exception
    when data_exception then
      perform signalbox._check_handles(ack.receipt_handles);
  end;
  if cardinality(v_ids) <> cardinality(ack.receipt_handles)
    or v_queue_id::text <> v_queue or v_nonce::text <> v_claim or array_to_string(v_ids, ',') <> v_list
  then
    perform signalbox._check_handles(ack.receipt_handles); -- one of them has a comma, or a form that a cast accepts
  end if;
  with gone as (
    delete from signalbox.lease l
    where l.message_id = any(v_ids) and l.nonce = v_nonce and l.queue_id + 0 = v_queue_id
    returning l.message_id, l.receive_count, signalbox._work_ms(l.leased_at) as ms, l.consumer, l.lane
  )
  select array_agg(g.message_id), array_agg(g.receive_count), array_agg(g.ms), max(g.consumer), max(g.lane)
  into v_gone, v_counts, v_work_ms, v_consumer, v_lane
  from gone g;
  if v_gone is not null then
    insert into signalbox.settled (queue_id, settled_at, message_ids, receive_counts, work_ms, consumer)
    values (v_queue_id, clock_timestamp(), v_gone, v_counts, v_work_ms, v_consumer);
    if v_lane is not null then
      perform signalbox._leave_lanes(v_gone);
    end if;
    if signalbox._is_marked(v_nonce) then
      perform signalbox._release_keys(v_gone);
    end if;
    if 1 < any(v_counts) then
      perform signalbox._forget_states(v_gone);
    end if;
  end if;
  if cardinality(v_gone) = cardinality(ack.receipt_handles) then
    return query select h, true from unnest(ack.receipt_handles) h;
  else
    if not v_ids <@ coalesce(v_gone, '{}') then
      perform signalbox._refuse_older_snapshot('ack');
    end if;
    return query
    select h.handle, coalesce(h.message_id = any(v_gone), false)
    from unnest(ack.receipt_handles, v_ids) h(handle, message_id);
  end if;
end $$;
