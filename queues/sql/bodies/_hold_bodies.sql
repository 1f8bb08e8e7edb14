-- Lock large bodies against their collector until this transaction ends, in the order of their hashes. Returns false when
-- one of them is not known. Index: large_body_pkey.
create or replace function signalbox._hold_bodies(p_sha256s bytea[]) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sha256 bytea;
begin
  for v_sha256 in
    select distinct h.sha256 from unnest(p_sha256s) h(sha256) where h.sha256 is not null order by 1
  loop
    perform from signalbox.large_body b where b.sha256 = v_sha256 for key share;
    if not found then
      return false;
    end if;
  end loop;
  return true;
end $$;
