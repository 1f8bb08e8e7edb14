-- commit_offset(stream, group_name, member, partition, through_position, epoch): the group has read this partition up to and with a
-- position; in the caller's transaction, so that what was made of the messages and the fact that they were read are one.
-- False when the partition is no longer this member's, or was rewound, since it was read with that epoch, or when the group has
-- committed this position already, as where two sessions read as one member: then nothing is moved, and the caller rolls back
-- what it made of the messages. A position above the horizon (_horizons) is an error: no read has returned it, and a message
-- before it may still be committed. Needs READ COMMITTED.
-- Locks the group's row of the partition until the transaction ends; the offset is appended (index: group_offset_pkey).
create or replace function signalbox.commit_offset(
  stream text, group_name text, member text, partition integer, through_position bigint, epoch bigint
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(commit_offset.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, commit_offset.group_name);
  v_horizon bigint;
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('commit_offset');
  end if;
  if commit_offset.partition is null or commit_offset.partition not between 0 and v_stream.partitions - 1 then
    perform signalbox._refuse('partition', format('must be from 0 to %s', v_stream.partitions - 1));
  end if;
  if commit_offset.through_position is null or commit_offset.through_position < 0
    or commit_offset.through_position > coalesce(pg_sequence_last_value(v_stream.positions[commit_offset.partition + 1]), 0)
  then
    perform signalbox._refuse('through_position', format(
      'is %s, and no read has returned it: commit only what read_stream returned', coalesce(commit_offset.through_position::text, 'null')
    ));
  end if;
  if not signalbox._commit_offset(
    v_group.group_id, commit_offset.partition, commit_offset.member, commit_offset.epoch, commit_offset.through_position
  ) then
    return false;
  end if;
  v_horizon := (signalbox._horizons(v_stream.stream_id, v_stream.positions))[commit_offset.partition + 1];
  if commit_offset.through_position > v_horizon then
    perform signalbox._refuse('through_position', format(
      'is %s: partition %s can be committed up to %s; commit only what read_stream returned',
      commit_offset.through_position, commit_offset.partition, v_horizon
    ));
  end if;
  return true;
end $$;

-- Whether the offset moved.
create or replace function signalbox._commit_offset(
  p_group_id integer, p_partition integer, p_member text, p_epoch bigint, p_position bigint
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_committed bigint;
begin
  perform from signalbox.group_partition p
  where p.group_id = p_group_id and p.partition = p_partition and p.member = p_member and p.epoch = p_epoch
  for no key update;
  if not found then
    return false;
  end if;
  select o.position into v_committed
  from signalbox.group_offset o
  where o.group_id = p_group_id and o.partition = p_partition
  order by o.offset_id desc
  limit 1;
  if p_position <= v_committed then
    return false;
  end if;
  insert into signalbox.group_offset (group_id, partition, position) values (p_group_id, p_partition, p_position);
  return true;
end $$;

-- What retention has dropped before the group read it: counted, and passed. The member's fence is that of a commit.
create or replace function signalbox._pass_lost(
  p_group_id integer, p_partition integer, p_member text, p_epoch bigint, p_committed bigint, p_first bigint
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not signalbox._commit_offset(p_group_id, p_partition, p_member, p_epoch, p_first - 1) then
    return false;
  end if;
  update signalbox.group_partition p
  set lost = p.lost + p_first - 1 - p_committed
  where p.group_id = p_group_id and p.partition = p_partition;
  return true;
end $$;
