-- Count messages that retention dropped before the group read them, and move the offset behind them. Checks the
-- member's epoch, as a commit does.
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
