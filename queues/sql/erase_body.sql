-- erase_body(erasure_id, sha256): a large body that an erasure left, if nothing points to it any more. True when the caller is to remove the
-- object and then commit: until then whoever sends the same body waits, and afterwards uploads it again (drop_body). False when it is needed or
-- held. Null when it is unknown: its object has gone already, or is just being brought anew by a sender who has not committed, whose it is then.
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
  update signalbox.erasure_body e set removed = true where e.erasure_id = erase_body.erasure_id and e.sha256 = erase_body.sha256;
  return true;
end $$;
