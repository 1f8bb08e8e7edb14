-- Return whether two fingerprints belong to one failure group: they are equal, or were merged. Null when one of them is
-- null. Index: cluster_member_pkey.
create or replace function signalbox._same_cause(p_one text, p_other text) returns boolean
language plpgsql
stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_one = p_other then
    return true;
  end if;
  return coalesce((select m.head from signalbox.failure_group_member m where m.fingerprint = p_one), p_one)
    = coalesce((select m.head from signalbox.failure_group_member m where m.fingerprint = p_other), p_other);
end $$;
