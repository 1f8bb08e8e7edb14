-- configure_group(stream, group_name, settings, dry_run): change the named settings of a consumer group and leave the
-- others. `filter` is text in the language of docs/operate/filters.md: payload, attr, trace, and group, which is the
-- key; an empty one selects all. A subscription also has `queue_window` (1 to 100,000 messages ahead in its queue),
-- `delay_seconds` (the delay of each message in the queue; null: as the queue's setting says) and `paused` (true:
-- upkeep sends nothing, and its messages stay in the stream as lag, where retention drops them). A new filter holds
-- from the next read on; what it skips is committed and counted.
-- Returns whether anything changes and, with another filter, how many of the next unread messages were examined (at
-- most 1,000) and how many of these it skips. dry_run => true returns the same and changes nothing.
create or replace function signalbox.configure_group(
  stream text,
  group_name text,
  settings jsonb,
  dry_run boolean default false,
  out changed boolean,
  out examined bigint,
  out skipped bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(configure_group.stream);
  v_group signalbox.consumer_group := signalbox._group_of(v_stream.stream_id, configure_group.group_name);
  v_settings jsonb := signalbox._check_group_settings(v_group, configure_group.settings);
  v_compiled record;
  v_changes jsonb;
begin
  select jsonb_object_agg(s.key, jsonb_build_object('before', to_jsonb(v_group) -> s.key, 'after', s.value))
  into v_changes
  from jsonb_each(v_settings) s
  where to_jsonb(v_group) -> s.key is distinct from s.value;
  changed := v_changes is not null;
  examined := 0;
  skipped := 0;
  v_compiled := signalbox._compile_filter(coalesce(v_settings ->> 'filter', v_group.filter));
  if v_changes ? 'filter' then
    select p.examined, p.skipped
    into examined, skipped
    from signalbox._preview_filter(v_stream, v_group.group_id, v_compiled.conditions, v_compiled.negated) p;
  end if;
  if not changed or configure_group.dry_run then
    return;
  end if;
  v_group := jsonb_populate_record(v_group, v_settings);
  update signalbox.consumer_group g
  set filter = v_group.filter,
    conditions = v_compiled.conditions,
    negated = v_compiled.negated,
    queue_window = v_group.queue_window,
    delay_seconds = v_group.delay_seconds,
    paused = v_group.paused
  where g.group_id = v_group.group_id;
  perform signalbox._audit_stream('group.configure', configure_group.stream, jsonb_build_object(
    'group', v_group.name, 'changes', v_changes
  ));
end $$;
