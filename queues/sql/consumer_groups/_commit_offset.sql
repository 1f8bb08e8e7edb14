-- Move the offset of a group's partition; returns whether it moved. Where the group has a filter, what the filter skips
-- on the way is counted.
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
  v_group record;
begin
  select g.stream_id, g.conditions, g.negated into v_group
  from signalbox.group_partition p
  join signalbox.consumer_group g on g.group_id = p.group_id
  where p.group_id = p_group_id and p.partition = p_partition and p.member = p_member and p.epoch = p_epoch
  for no key update of p;
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
  if cardinality(v_group.conditions) > 0 then
    update signalbox.group_partition p
    set skipped = p.skipped + (
      select count(*)
      from signalbox.stream_partition f
      cross join lateral signalbox._read_partition(
        v_group.stream_id, p_partition, greatest(v_committed, f.first_position - 1), p_position, null, f.first_position
      ) r
      where f.stream_id = v_group.stream_id and f.partition = p_partition
        and not signalbox._selects(
          v_group.conditions, v_group.negated, r.payload, r.attributes, r.key, null, r.trace_id
        )
    )
    where p.group_id = p_group_id and p.partition = p_partition;
  end if;
  return true;
end $$;
