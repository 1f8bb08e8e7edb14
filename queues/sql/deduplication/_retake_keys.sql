-- Let dead letters hold their deduplication ids again, where they go to a queue in which messages hold them. Returns
-- the dead letters that may go: one whose id another message holds, or is being sent with at this moment, stays dead,
-- and one that another transaction holds is skipped. Never waits for an id.
create or replace function signalbox._retake_keys(p_dead_letter_ids bigint[], p_target_queue_id integer)
returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
  v_kept bigint[] := '{}';
begin
  for v_letter in
    select d.dead_letter_id, d.message_id, d.deduplication_id, d.attributes, d.priority, d.group_id, d.body_sha256,
      q.queue_id,
      -- The payload that its sender sent, and may send again, even if a redrive has changed it.
      coalesce(
        (
          select w.payload
          from signalbox.rewritten w
          where w.message_id = d.message_id
          order by w.dead_letter_id
          limit 1
        ), d.payload
      ) as payload
    from signalbox.dead_letter d
    join signalbox.queue q on q.queue_id = any(array[coalesce(p_target_queue_id, d.source_queue_id)])
    where d.dead_letter_id = any(p_dead_letter_ids)
      and d.deduplication_id is not null
      and q.dedup_scope = 'in_flight'
    order by d.dead_letter_id
  loop
    perform from signalbox.dead_letter d where d.dead_letter_id = v_letter.dead_letter_id for update skip locked;
    if found and pg_try_advisory_xact_lock(v_letter.queue_id, hashtext(v_letter.deduplication_id)) then
      -- Look before the insert, which would wait for an ack that has not committed.
      perform from signalbox.dedup_in_flight k
      where k.queue_id = v_letter.queue_id and k.deduplication_id = v_letter.deduplication_id;
      if not found then
        perform signalbox._hold_key(
          v_letter.queue_id, v_letter.deduplication_id, v_letter.message_id, v_letter.payload, v_letter.attributes,
          v_letter.priority, v_letter.group_id, v_letter.body_sha256
        );
        continue;
      end if;
    end if;
    v_kept := v_kept || v_letter.dead_letter_id;
  end loop;
  if v_kept = '{}' then
    return p_dead_letter_ids;
  end if;
  return array(select i from unnest(p_dead_letter_ids) i where i <> all(v_kept));
end $$;
