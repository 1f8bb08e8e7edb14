-- Let restored messages hold their deduplication ids again, where messages hold ids. Returns the messages that may not
-- be restored: their queue was deleted, or another message holds their id.
create or replace function signalbox._hold_keys_again(p_message_ids bigint[]) returns bigint[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_message record;
  v_kept bigint[] := array(
    select t.message_id
    from signalbox.trash t
    where t.message_id = any(p_message_ids)
      and (
        not exists (select from signalbox.queue q where q.queue_id = t.queue_id)
        or t.letter is not null
          and not exists (select from signalbox.queue q where q.queue_id = (t.letter ->> 'queue_id')::integer)
      )
  );
begin
  for v_message in
    select t.message_id, t.queue_id, t.priority, b.group_id, b.deduplication_id, b.attributes, b.body_sha256,
      -- The payload as its sender sent it, as in _retake_keys.
      coalesce(
        (
          select w.payload
          from signalbox.rewritten w
          where w.message_id = t.message_id
          order by w.dead_letter_id
          limit 1
        ), b.payload
      ) as payload
    from signalbox.trash t
    join signalbox.queue q on q.queue_id = any(array[t.queue_id]) and q.dedup_scope = 'in_flight'
    cross join lateral signalbox._body_facts(t.queue_id, t.message_id) b
    where t.message_id = any(p_message_ids) and t.letter is null and b.deduplication_id is not null
    order by t.message_id
  loop
    if pg_try_advisory_xact_lock(v_message.queue_id, hashtext(v_message.deduplication_id)) then
      -- Look before the insert, which would wait for an ack that has not committed.
      perform from signalbox.dedup_in_flight k
      where k.queue_id = v_message.queue_id and k.deduplication_id = v_message.deduplication_id;
      if not found then
        perform signalbox._hold_key(
          v_message.queue_id, v_message.deduplication_id, v_message.message_id, v_message.payload, v_message.attributes,
          v_message.priority, v_message.group_id, v_message.body_sha256
        );
        continue;
      end if;
    end if;
    v_kept := v_kept || v_message.message_id;
  end loop;
  return v_kept;
end $$;
