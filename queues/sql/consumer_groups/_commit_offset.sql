-- Move the offset of a group's partition; returns whether it moved.
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
