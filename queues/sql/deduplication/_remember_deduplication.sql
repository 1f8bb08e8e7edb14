-- Remember a deduplication id for the queue's window, with its message and a hash of the body.
create or replace function signalbox._remember_deduplication(
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
  insert into signalbox.dedup (queue_id, deduplication_id, message_id, request_hash, sent_at, expires_at)
  select p_queue_id, p_deduplication_id, p_message_id,
    signalbox._request_hash(p_payload, p_attributes, p_priority, p_group_id, p_body_sha256),
    now.at, now.at + q.dedup_window_seconds * interval '1 second'
  from signalbox.queue q, (select clock_timestamp() as at) now
  where q.queue_id = p_queue_id
$$;
