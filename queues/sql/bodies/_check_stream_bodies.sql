-- Check the large bodies of messages that are about to be appended, and lock them against their collector until this
-- transaction ends. Each must have been claimed (claim_body). A stream whose max_payload_bytes is below the log's own
-- limit takes no large bodies. Returns how many bytes they have together. Index: large_body_pkey.
create or replace function signalbox._check_stream_bodies(p_payloads jsonb[], p_sha256s bytea[], p_limit integer)
returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_largest bigint;
begin
  perform signalbox._check_batch_length(
    'body_sha256s', coalesce(cardinality(p_sha256s), 0), coalesce(cardinality(p_payloads), 0)
  );
  perform signalbox._check_body_hash(h.sha256) from unnest(p_sha256s) h(sha256) where h.sha256 is not null;
  perform from unnest(p_payloads, p_sha256s) m(payload, sha256) where m.sha256 is not null
    and m.payload is distinct from 'null';
  if found then
    perform signalbox._refuse('payloads', 'must have JSON''s null beside each of body_sha256s: a message has one body');
  end if;
  if not signalbox._hold_bodies(p_sha256s) then
    perform signalbox._refuse('body_sha256s', 'has a body that was not claimed: call claim_body and upload it first');
  end if;
  select max(b.bytes) into v_largest
  from unnest(p_sha256s) h(sha256)
  join signalbox.large_body b on b.sha256 = any(array[h.sha256]);
  if p_limit < 262144 and v_largest - 2 > p_limit then
    perform signalbox._refuse_too_large(v_largest, p_limit);
  end if;
  return signalbox._stored_bytes(p_sha256s);
end $$;
