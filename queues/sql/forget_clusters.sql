-- forget_clusters(): clusters of which nothing is dead and nothing has died for two weeks leave no row, and buckets are
-- kept for as long; at most 10,000 rows of each a call. So failures that are all different cost no more than their letters.
-- Returns how many rows, or null while another folds. Indexes: failure_cluster_over, failure_cluster_bucket_age.
create or replace function signalbox.forget_clusters() returns bigint
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
  if not pg_try_advisory_xact_lock(hashtext('signalbox.fold_clusters'), 0) then
    return null;
  end if;
  with over as (
    delete from signalbox.failure_cluster c
    where c.fingerprint = any(array(
      select o.fingerprint from signalbox.failure_cluster o where o.dead <= 0 and o.last_seen < c_before order by o.last_seen limit 10000
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
  delete from signalbox.cluster_fold f
  where f.folded_at < clock_timestamp() - interval '10 minutes'
    and f.fold_id < (select max(n.fold_id) from signalbox.cluster_fold n where n.folded_at < clock_timestamp() - interval '5 minutes');
  return v_rows + coalesce(cardinality(v_forgotten), 0);
end $$;

-- empty_cluster_deltas(): TRUNCATE the slots of the ring whose deltas were all folded at least a minute ago, as
-- empty_deltas() does. Takes a slot's lock first and never waits for it; the slot in use is left alone.
create or replace function signalbox.empty_cluster_deltas() returns integer
language plpgsql
set lock_timeout = '50ms'
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slot integer;
  v_current integer := date_part('epoch', clock_timestamp())::bigint / 60 % 4;
  v_fold record;
  v_uncovered boolean;
  v_emptied integer := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('empty_cluster_deltas');
  end if;
  select pg_snapshot_xmax(f.snapshot)::text::bigint as xmax, array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x) as xip
  into v_fold
  from signalbox.cluster_fold f
  where f.folded_at < clock_timestamp() - interval '60 seconds'
  order by f.fold_id desc
  limit 1;
  if not found then
    return 0;
  end if;
  for v_slot in 0..3 loop
    continue when v_slot in (v_current, (v_current + 1) % 4);
    continue when pg_relation_size(format('signalbox.cluster_delta_%s', v_slot)::regclass) = 0;
    begin
      execute format('lock table signalbox.cluster_delta_%s in access exclusive mode', v_slot);
      execute format(
        'select exists (select from signalbox.cluster_delta_%s d where d.txid >= $1 or d.txid = any($2))', v_slot
      ) into v_uncovered using v_fold.xmax, v_fold.xip;
      if not v_uncovered then
        execute format('truncate signalbox.cluster_delta_%s', v_slot);
        v_emptied := v_emptied + 1;
      end if;
    exception
      when lock_not_available then
        null;
    end;
  end loop;
  return v_emptied;
end $$;
