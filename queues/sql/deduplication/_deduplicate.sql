-- Find the first message with a deduplication id within the queue's window: returns its id and counts the send as
-- deduplicated, or null: send it. Takes a transaction-scoped advisory lock for (queue, id), then looks in a new
-- statement, so that of two senders the second sees the first. The same id with another body is an error that names the
-- first message. Index: dedup_key.
create or replace function signalbox._deduplicate(
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
  select d.message_id, d.request_hash
  into v_first_id, v_hash
  from signalbox.dedup d
  where d.queue_id = p_queue_id
    and d.deduplication_id = p_deduplication_id
    and d.expires_at > clock_timestamp()
    and d.sent_at > clock_timestamp() - interval '24 hours'  -- the longest window; prunes older partitions
  order by d.sent_at desc
  limit 1;
  if not found then
    return null;
  end if;
  if v_hash <> signalbox._request_hash(p_payload, p_attributes, p_priority, p_group_id, p_body_sha256) then
    perform signalbox._refuse_other_body(p_deduplication_id, v_first_id);
  end if;
  perform signalbox._count(p_queue_id, {event.deduplicated}, 1);
  return v_first_id;
end $$;
