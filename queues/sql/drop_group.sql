-- drop_group(stream, group_name): forget a group and what it has read; true when there was one. The stream keeps its messages,
-- and a queue that the group fed keeps what it was sent. Waits for commits of the group that are under way.
create or replace function signalbox.drop_group(stream text, group_name text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(drop_group.stream);
begin
  delete from signalbox.consumer_group g where g.stream_id = v_stream.stream_id and g.name = drop_group.group_name;
  if not found then
    return false;
  end if;
  perform signalbox._audit_stream('group.drop', drop_group.stream, jsonb_build_object('group', drop_group.group_name));
  return true;
end $$;
