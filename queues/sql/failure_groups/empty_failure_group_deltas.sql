-- empty_failure_group_deltas(): TRUNCATE the partitions of cluster_delta whose deltas were all aggregated at least a
-- minute ago, as empty_deltas does. Takes each partition's lock first and never waits for it; the partition in use is
-- left alone.
create or replace function signalbox.empty_failure_group_deltas() returns integer
language plpgsql
set lock_timeout = '50ms'
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slot integer;
  v_current integer := date_part('epoch', clock_timestamp())::bigint / 60 % 4;
  v_last record;
  v_uncovered boolean;
  v_emptied integer := 0;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('empty_failure_group_deltas');
  end if;
  select pg_snapshot_xmax(f.snapshot)::text::bigint as xmax,
    array(select x::text::bigint from pg_snapshot_xip(f.snapshot) x) as xip
  into v_last
  from signalbox.failure_group_aggregation f
  where f.aggregated_at < clock_timestamp() - interval '60 seconds'
  order by f.aggregation_id desc
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
      ) into v_uncovered using v_last.xmax, v_last.xip;
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
