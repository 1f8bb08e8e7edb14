-- drop_group(stream, group_name): delete a consumer group and its offsets. Returns true when it existed. The stream
-- keeps its messages, and a queue that the group fed keeps what was sent to it. Waits for open commits of the group.
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
