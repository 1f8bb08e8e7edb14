-- notice_promotion(): notice that this server is another than the one that served this database before, promoted or
-- restored. The epoch (PostgreSQL's timeline) of such a server is new, and ids that the former server handed out after
-- the last replicated commit must not be used again: ids continue far beyond any that it may have drawn, and reads of
-- consumer groups that are not committed can no longer be committed. Admission counters that did not survive the
-- promotion are made again.
-- Returns the epoch when it is new, null when it is known or another session is noticing it. Upkeep calls it when it
-- connects and at intervals; one probe of the primary key. Locks the partitions of consumer groups briefly.
create or replace function signalbox.notice_promotion() returns integer
language plpgsql
set lock_timeout = '2s'
set search_path = pg_catalog, pg_temp
as $$
declare
  c_segment_ids constant bigint := 1000000;
  c_gap constant bigint := 1000000;
  v_cluster bigint;
  v_epoch integer := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
  v_first bigint;
begin
  select c.system_identifier into v_cluster from pg_control_system() c;
  perform from signalbox.promotion p where p.cluster = v_cluster and p.epoch = v_epoch;
  if found or not pg_try_advisory_xact_lock(hashtext('signalbox.partitions'), 0) then
    return null; -- a process that makes partitions moves the same sequence
  end if;
  -- Two segments on, never near a boundary, so that no id drawn at this moment can be drawn again.
  v_first := (
    greatest(coalesce(pg_sequence_last_value('signalbox.message_id'::regclass), 0) - 1, 0) / c_segment_ids + 2
  ) * c_segment_ids;
  insert into signalbox.promotion (cluster, epoch, first_message_id) values (v_cluster, v_epoch, v_first + 1)
    on conflict do nothing;
  if not found then
    return null;
  end if;
  perform signalbox._repair_admission_counters();
  -- Take the lock that may time out first: a sequence stays moved when the rest is rolled back and tried again.
  perform from signalbox.group_partition p order by p.group_id, p.partition for no key update;
  perform signalbox._ensure_segment(v_first + 1);
  perform setval('signalbox.message_id', greatest(v_first, pg_sequence_last_value('signalbox.message_id'::regclass)));
  perform setval(
    'signalbox.dead_letter_id', coalesce(pg_sequence_last_value('signalbox.dead_letter_id'::regclass), 0) + c_gap
  );
  update signalbox.group_partition p set epoch = p.epoch + c_gap; -- a member may have an epoch that was not replicated
  perform signalbox._record_audit(
    'upkeep', 'server.promoted', null, '', '',
    jsonb_build_object('cluster', v_cluster::text, 'epoch', v_epoch, 'first_message_id', v_first + 1)
  );
  return v_epoch;
end $$;
