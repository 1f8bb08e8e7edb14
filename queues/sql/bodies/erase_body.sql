-- erase_body(erasure_id, sha256): forget a large body that an erasure left, if no message needs it. Returns true when
-- the caller must remove the object and then commit: until then a sender of the same body waits, and uploads it again
-- afterwards (drop_body). Returns false when the body is needed or held, and null when it is unknown: the object is
-- already gone, or a sender that has not committed is uploading it again and owns it.
create or replace function signalbox.erase_body(erasure_id bigint, sha256 bytea) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from signalbox.large_body b where b.sha256 = erase_body.sha256 for update skip locked;
  if not found then
    return case when exists (select from signalbox.large_body b where b.sha256 = erase_body.sha256) then false end;
  end if;
  if signalbox._body_is_needed(erase_body.sha256) then
    return false;
  end if;
  delete from signalbox.large_body b where b.sha256 = erase_body.sha256;
  update signalbox.erasure_body e set removed = true where e.erasure_id = erase_body.erasure_id
    and e.sha256 = erase_body.sha256;
  return true;
end $$;
