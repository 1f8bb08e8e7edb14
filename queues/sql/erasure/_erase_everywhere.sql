-- Replace all contents of these messages, by their ids. Contents that are already the marker are not written again.
create or replace function signalbox._erase_everywhere(p_erasure_id bigint, p_ids bigint[], p_queue_ids integer[])
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_marker jsonb := jsonb_build_object('erased', p_erasure_id::text);
  v_queues integer[] := array(
    select q.queue_id from signalbox.queue q union select i from unnest(p_queue_ids) i where i is not null
  );
  v_first bigint;
  v_last bigint;
begin
  insert into signalbox.erasure_body (erasure_id, sha256)
  select p_erasure_id, p.sha256 from signalbox.body_pointer p where p.message_id = any(p_ids)
  union
  select p_erasure_id, k.body_sha256
  from unnest(v_queues) q(queue_id)
  cross join unnest(p_ids) g(id)
  join signalbox.message_kept k on k.queue_id = q.queue_id and k.message_id = g.id
  where k.body_sha256 is not null
  union
  select p_erasure_id, d.body_sha256 from signalbox.dead_letter d where d.message_id = any(p_ids)
    and d.body_sha256 is not null
  union
  select p_erasure_id, t.body_sha256 from signalbox.trash t where t.message_id = any(p_ids)
    and t.body_sha256 is not null
  union
  select p_erasure_id, h.body_sha256 from signalbox.held_copy h where h.message_id = any(p_ids)
    and h.body_sha256 is not null
  on conflict do nothing;

  update signalbox.dead_letter d
  set payload = v_marker, attributes = null, state = null, body_sha256 = null, body_bytes = null, details = null,
    error = case when d.error is not null then v_marker::text end
  where d.message_id = any(p_ids) and d.payload <> v_marker;
  update signalbox.trash t
  set body_sha256 = null,
    letter = t.letter || jsonb_build_object(
      'payload', v_marker, 'attributes', null, 'state', null, 'body_sha256', null, 'body_bytes', null, 'details', null,
      'error', case when t.letter ->> 'error' is not null then v_marker::text end
    )
  where t.message_id = any(p_ids) and t.letter -> 'payload' is distinct from v_marker and t.letter is not null;
  update signalbox.rewritten w set payload = v_marker where w.message_id = any(p_ids) and w.payload <> v_marker;
  update signalbox.message m
  set payload = v_marker, attributes = null, body_sha256 = null, body_bytes = null
  from unnest(v_queues) q(queue_id)
  cross join unnest(p_ids) g(id)
  where m.queue_id = q.queue_id and m.message_id = g.id and (m.payload <> v_marker or m.attributes is not null);
  update signalbox.message_kept k
  set payload = v_marker, attributes = null, body_sha256 = null, body_bytes = null
  from unnest(v_queues) q(queue_id)
  cross join unnest(p_ids) g(id)
  where k.queue_id = q.queue_id and k.message_id = g.id and (k.payload <> v_marker or k.attributes is not null);
  update signalbox.held_copy h
  set payload = v_marker, attributes = null, body_sha256 = null
  where h.message_id = any(p_ids) and h.payload <> v_marker;
  delete from signalbox.body_pointer p where p.message_id = any(p_ids);
  delete from signalbox.message_state s where s.message_id = any(p_ids);
  update signalbox.failure f
  set error = case when f.error is not null then v_marker::text end, details = null
  where f.message_id = any(p_ids) and (f.error <> v_marker::text or f.details is not null);

  select min(i), max(i) into v_first, v_last from unnest(p_ids) i;
  update signalbox.settled s
  set results = array(
    select case when u.id = any(p_ids) and u.result is not null then v_marker else u.result end
    from unnest(s.message_ids, s.results) with ordinality u(id, result, place)
    order by u.place
  )
  where s.message_ids[1] <= v_last and s.message_ids[cardinality(s.message_ids)] >= v_first
    and s.message_ids && p_ids
    and s.results is not null
    and exists (
      select from unnest(s.message_ids, s.results) u(id, result) where u.id = any(p_ids) and u.result <> v_marker
    );
end $$;
