-- commit_offset(stream, group_name, member, partition, through_position, epoch): the group has read this partition up to and with a
-- position; in the caller's transaction, so that what was made of the messages and the fact that they were read are one.
-- False when the partition is no longer this member's, or was rewound, since it was read with that epoch: then nothing is
-- moved, and the caller rolls back or lets the next owner do the work again. A position before what was committed moves nothing.
-- Locks the group's row of the partition until the transaction ends; the offset is appended (index: group_offset_pkey).
create or replace function signalbox.commit_offset(
  stream text, group_name text, member text, partition integer, through_position bigint, epoch bigint
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(commit_offset.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, commit_offset.group_name);
begin
  if commit_offset.partition is null or commit_offset.partition not between 0 and v_stream.partitions - 1 then
    perform signalbox._refuse('partition', format('must be from 0 to %s', v_stream.partitions - 1));
  end if;
  if commit_offset.through_position is null or commit_offset.through_position < 0
    or commit_offset.through_position > coalesce(pg_sequence_last_value(v_stream.positions[commit_offset.partition + 1]), 0)
  then
    perform signalbox._refuse('through_position', format('is %s, which nobody can have read', coalesce(commit_offset.through_position::text, 'null')));
  end if;
  return signalbox._commit_offset(v_group.group_id, commit_offset.partition, commit_offset.member, commit_offset.epoch, commit_offset.through_position);
end $$;

create or replace function signalbox._commit_offset(
  p_group_id integer, p_partition integer, p_member text, p_epoch bigint, p_position bigint
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
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
  if p_position > v_committed then
    insert into signalbox.group_offset (group_id, partition, position) values (p_group_id, p_partition, p_position);
  end if;
  return true;
end $$;

-- What retention has dropped before the group read it: counted, and passed. The member's fence is that of a commit.
create or replace function signalbox._pass_lost(
  p_group_id integer, p_partition integer, p_member text, p_epoch bigint, p_committed bigint, p_first bigint
) returns boolean
language plpgsql
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
