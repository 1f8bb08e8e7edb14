-- forget_failure_groups(): delete failure groups that have no dead letter and no death within two weeks, and their
-- buckets of that age; at most 10,000 rows of each a call. So failures that are all different take little space,
-- compared with the dead letters themselves. Returns how many rows, or null while another process aggregates. Indexes:
-- failure_cluster_over, failure_cluster_bucket_age.
create or replace function signalbox.forget_failure_groups() returns bigint
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  c_before constant timestamptz := clock_timestamp() - interval '14 days';
  v_forgotten text[];
  v_rows bigint;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.aggregate_failure_groups'), 0) then
    return null;
  end if;
  with over as (
    delete from signalbox.failure_cluster c
    where c.fingerprint = any(array(
      select o.fingerprint from signalbox.failure_cluster o where o.dead <= 0 and o.last_seen < c_before
        order by o.last_seen limit 10000
    ))
    returning c.fingerprint
  )
  select array_agg(o.fingerprint) into v_forgotten from over o;
  delete from signalbox.failure_cluster_queue c where c.fingerprint = any(v_forgotten);
  delete from signalbox.failure_cluster_bucket c
  where c.ctid = any(array(
    select o.ctid from signalbox.failure_cluster_bucket o where o.bucket_at < c_before order by o.bucket_at limit 10000
  ));
  get diagnostics v_rows = row_count;
  delete from signalbox.failure_group_aggregation f
  where f.aggregated_at < clock_timestamp() - interval '10 minutes'
    and f.aggregation_id < (
      select max(n.aggregation_id)
      from signalbox.failure_group_aggregation n
      where n.aggregated_at < clock_timestamp() - interval '5 minutes'
    );
  return v_rows + coalesce(cardinality(v_forgotten), 0);
end $$;
