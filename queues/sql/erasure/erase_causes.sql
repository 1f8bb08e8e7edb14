-- erase_causes(erasure_id, fingerprints, needles): replace the sample error of these failure groups with {"erased":
-- "<erasure_id>"}, and of pending deltas that contain one of the needles. Their numbers stay. Locks failure groups in
-- the order in which the aggregation does. Returns how many samples there were. Index: failure_cluster_pkey.
create or replace function signalbox.erase_causes(erasure_id bigint, fingerprints text[], needles text[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_marker text := jsonb_build_object('erased', erase_causes.erasure_id::text)::text;
  v_erased bigint;
  v_pending bigint;
begin
  perform from signalbox.failure_cluster c where c.fingerprint = any(erase_causes.fingerprints) order by c.fingerprint
    for update;
  update signalbox.failure_cluster c
  set error = v_marker
  where c.fingerprint = any(erase_causes.fingerprints) and c.error <> v_marker;
  get diagnostics v_erased = row_count;
  update signalbox.cluster_delta d
  set error = v_marker
  where d.fingerprint = any(erase_causes.fingerprints)
    and exists (select from unnest(erase_causes.needles) n where strpos(d.error, n) > 0);
  get diagnostics v_pending = row_count;
  return v_erased + v_pending;
end $$;
