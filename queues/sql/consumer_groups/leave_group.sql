-- leave_group(stream, group_name, member): give back the partitions of a member that ends. Returns how many there were.
create or replace function signalbox.leave_group(stream text, group_name text, member text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(leave_group.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, leave_group.group_name);
  v_left integer;
begin
  update signalbox.group_partition p
  set member = null, epoch = p.epoch + 1
  where p.group_id = v_group.group_id and p.member = leave_group.member;
  get diagnostics v_left = row_count;
  delete from signalbox.group_member m where m.group_id = v_group.group_id and m.member = leave_group.member;
  return v_left;
end $$;
