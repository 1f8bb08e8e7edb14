-- Let the message that was just sent point to a large body. The body must have been claimed (claim_body); its row is
-- locked until this transaction ends. Indexes: large_body_pkey, message_pkey, queue_pkey.
create or replace function signalbox._point_to_body(
  p_queue_id integer, p_message_id bigint, p_payload jsonb, p_sha256 bytea, p_limit integer
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bigint;
  v_limit bigint := signalbox._largest_body(p_queue_id, p_limit);
begin
  perform signalbox._check_body_hash(p_sha256);
  if p_payload <> 'null' then
    perform signalbox._refuse('payload', 'must be JSON''s null beside body_sha256: a message has one body');
  end if;
  select b.bytes into v_bytes from signalbox.large_body b where b.sha256 = p_sha256 for key share;
  if not found then
    perform signalbox._refuse('body_sha256', 'is of no body that was claimed: call claim_body and upload it first');
  end if;
  if v_bytes - 2 > v_limit then
    perform signalbox._refuse_too_large(v_bytes, v_limit);
  end if;
  insert into signalbox.body_pointer (sha256, message_id) values (p_sha256, p_message_id);
  update signalbox.message m
  set body_sha256 = p_sha256, body_bytes = v_bytes
  where m.queue_id = p_queue_id and m.message_id = p_message_id;
end $$;
