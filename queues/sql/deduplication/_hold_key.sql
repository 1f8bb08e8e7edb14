-- Let the message that was just sent hold its deduplication id. The caller has the id's lock.
create or replace function signalbox._hold_key(
  p_queue_id integer,
  p_deduplication_id text,
  p_message_id bigint,
  p_payload jsonb,
  p_attributes jsonb,
  p_priority int,
  p_group_id text,
  p_body_sha256 bytea default null
) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  insert into signalbox.dedup_in_flight (queue_id, deduplication_id, message_id, request_hash)
  values (
    p_queue_id, p_deduplication_id, p_message_id,
    signalbox._request_hash(p_payload, p_attributes, p_priority, p_group_id, p_body_sha256)
  )
$$;
