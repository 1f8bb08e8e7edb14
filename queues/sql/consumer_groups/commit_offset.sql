-- commit_offset(stream, group_name, member, partition, through_position, epoch): record that the group has read this
-- partition up to and including a position. Call it in the transaction that stores the results of the messages, so that
-- both commit together.
-- Returns false when the partition is no longer this member's, or was moved, since it was read with that epoch, or
-- when the group has already committed this position because two sessions read as one member. Then nothing is recorded,
-- and the caller rolls back its results. A position above the horizon (_horizons) is an error: no read has returned it,
-- and a message before it may still be committed. Needs READ COMMITTED.
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
    or commit_offset.through_position > coalesce(
      pg_sequence_last_value(v_stream.positions[commit_offset.partition + 1]), 0
    )
  then
    perform signalbox._refuse('through_position', format(
      'is %s, and no read has returned it: commit only what read_stream returned',
      coalesce(commit_offset.through_position::text, 'null')
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
