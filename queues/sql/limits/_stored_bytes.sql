-- The bytes of large bodies, which count with their messages: they were claimed before the send. Index:
-- large_body_pkey.
create or replace function signalbox._stored_bytes(p_sha256s bytea[]) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select coalesce(sum(b.bytes), 0)
    from unnest(p_sha256s) h(sha256)
    join signalbox.large_body b on b.sha256 = any(array[h.sha256])
  );
end $$;
