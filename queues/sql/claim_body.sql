-- claim_body(sha256, bytes): a payload too large for the log is about to be sent. Called in the sender's transaction
-- before it looks into the object storage and uploads: until that transaction ends, nobody removes an object of this
-- hash. True when the hash was unknown. Of two transactions that bring the same new body the second waits for the first;
-- claim several in the order of their hashes. Index: large_body_pkey.
create or replace function signalbox.claim_body(sha256 bytea, bytes bigint) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_bytes bigint;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('claim_body');
  end if;
  perform signalbox._check_body_hash(claim_body.sha256);
  if claim_body.bytes is null or claim_body.bytes < 1 then
    perform signalbox._refuse('bytes', format('is %s: it must be the size of the body', coalesce(claim_body.bytes::text, 'null')));
  end if;
  loop
    -- One that the collector removes is waited for, and then gone; other senders of it are not in the way.
    select b.bytes into v_bytes from signalbox.large_body b where b.sha256 = claim_body.sha256 for key share;
    exit when found;
    insert into signalbox.large_body (sha256, bytes) values (claim_body.sha256, claim_body.bytes) on conflict do nothing;
    if found then
      return true;
    end if;
  end loop;
  if v_bytes <> claim_body.bytes then
    perform signalbox._refuse('bytes', format('is %s: the body of this hash has %s', claim_body.bytes, v_bytes));
  end if;
  update signalbox.large_body b
  set last_claimed_at = clock_timestamp()
  where b.ctid = any(array(
    select c.ctid
    from signalbox.large_body c
    where c.sha256 = claim_body.sha256 and c.last_claimed_at < clock_timestamp() - interval '1 minute'
    for no key update skip locked  -- another sender of the same body is at it
  ));
  return false;
end $$;

create or replace function signalbox._check_body_hash(p_sha256 bytea) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_sha256 is null or octet_length(p_sha256) <> 32 then
    perform signalbox._refuse('body_sha256', format('has %s bytes: a SHA-256 has 32', coalesce(octet_length(p_sha256)::text, 'no')));
  end if;
end $$;

-- The message just sent points to this body, which was claimed in this transaction or before and is held until its end.
-- A queue whose limit was set below the log's own takes no large bodies. Indexes: large_body_pkey, message_pkey.
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
begin
  perform signalbox._check_body_hash(p_sha256);
  if p_payload <> 'null' then
    perform signalbox._refuse('payload', 'must be JSON''s null beside body_sha256: a message has one body');
  end if;
  select b.bytes into v_bytes from signalbox.large_body b where b.sha256 = p_sha256 for key share;
  if not found then
    perform signalbox._refuse('body_sha256', 'is of no body that was claimed: call claim_body and upload it first');
  end if;
  if p_limit < 262144 then
    perform signalbox._refuse_too_large(v_bytes, p_limit);
  end if;
  insert into signalbox.body_pointer (sha256, message_id) values (p_sha256, p_message_id);
  update signalbox.message m
  set body_sha256 = p_sha256, body_bytes = v_bytes
  where m.queue_id = p_queue_id and m.message_id = p_message_id;
end $$;

-- A pointer as receive returns it; null for an ordinary message. Inlined by the planner.
create or replace function signalbox._body_of(p_sha256 bytea, p_bytes bigint) returns jsonb
language sql stable
begin atomic
  select case when p_sha256 is not null then jsonb_build_object('sha256', encode(p_sha256, 'hex'), 'bytes', p_bytes) end;
end;
