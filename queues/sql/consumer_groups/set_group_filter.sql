-- set_group_filter(stream, group_name, filter): let a consumer group read only the messages that a filter selects, in
-- the language of docs/operate/filters.md: payload, attr, trace, and group, which is the key. An empty filter selects
-- all. The filter is compiled here, once. What it skips is committed, and counted for each partition.
-- Returns whether the filter changed. A change holds from the next read on; uncommitted reads can still be committed.
create or replace function signalbox.set_group_filter(stream text, group_name text, filter text) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(set_group_filter.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, set_group_filter.group_name);
  v_filter text := coalesce(set_group_filter.filter, '');
  v_compiled record;
begin
  v_compiled := signalbox._compile_filter(v_filter);
  update signalbox.consumer_group g
  set filter = v_filter, conditions = v_compiled.conditions, negated = v_compiled.negated
  where g.group_id = v_group.group_id and g.filter <> v_filter;
  if not found then
    return false;
  end if;
  perform signalbox._audit_stream('group.filter', set_group_filter.stream, jsonb_build_object(
    'group', v_group.name, 'before', v_group.filter, 'after', v_filter
  ));
  return true;
end $$;
