-- claim_body(sha256, bytes): announce that the caller is about to send a payload that is too large for the log. Call it
-- in the sender's transaction before the upload: no object with this hash is removed until that transaction ends.
-- Returns true when the hash was unknown. When two transactions send the same new body, the second waits for the first;
-- claim several bodies in the order of their hashes. Index: large_body_pkey.
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
    perform signalbox._refuse(
      'bytes', format('is %s: it must be the size of the body', coalesce(claim_body.bytes::text, 'null'))
    );
  end if;
  loop
    -- Wait for a collector that removes the body; then it is gone. Other senders of the body do not block.
    select b.bytes into v_bytes from signalbox.large_body b where b.sha256 = claim_body.sha256 for key share;
    exit when found;
    insert into signalbox.large_body (sha256, bytes) values (claim_body.sha256, claim_body.bytes)
      on conflict do nothing;
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
    for no key update skip locked  -- another sender of the same body has locked the row
  ));
  return false;
end $$;
