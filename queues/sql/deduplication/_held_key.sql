-- Return the message that holds a deduplication id in the scope in_flight; null when none does, so that the send goes
-- on. A message holds its id until it is acked, dead, purged or expired; an ack that has not committed still holds it.
-- Takes the same advisory lock as _deduplicate, then looks in a new statement. Index: dedup_in_flight_pkey.
create or replace function signalbox._held_key(
  p_queue_id integer,
  p_deduplication_id text,
  p_payload jsonb,
  p_attributes jsonb,
  p_priority int,
  p_group_id text,
  p_body_sha256 bytea default null
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first_id bigint;
  v_hash bytea;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('send with a deduplication id');
  end if;
  perform pg_advisory_xact_lock(p_queue_id, hashtext(p_deduplication_id));
  select k.message_id, k.request_hash
  into v_first_id, v_hash
  from signalbox.dedup_in_flight k
  where k.queue_id = p_queue_id and k.deduplication_id = p_deduplication_id;
  if not found then
    return null;
  end if;
  if v_hash <> signalbox._request_hash(p_payload, p_attributes, p_priority, p_group_id, p_body_sha256) then
    perform signalbox._refuse_other_body(p_deduplication_id, v_first_id);
  end if;
  perform signalbox._count(p_queue_id, {event.deduplicated}, 1);
  return v_first_id;
end $$;
