-- configure_stream(name, settings): change the named settings and leave the others. Returns the stream's id. The number
-- of partitions can only grow: every group reads the new ones from their first message, and new messages of a key may
-- go to another partition than its old ones (preview_partitions). A shorter retention also holds for existing segments.
-- Locks the stream's row, for which no appender or reader waits.
create or replace function signalbox.configure_stream(name text, settings jsonb) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_settings jsonb := signalbox._check_stream_settings(configure_stream.settings);
  v_stream signalbox.stream;
  v_changes jsonb;
begin
  select * into v_stream from signalbox.stream s where s.name = configure_stream.name for no key update;
  if not found then
    perform signalbox._refuse_unknown_stream(configure_stream.name);
  end if;
  if (v_settings ->> 'partitions')::numeric <> v_stream.partitions then
    perform signalbox._add_partitions(v_stream.stream_id, (v_settings ->> 'partitions')::numeric::integer);
  end if;
  select jsonb_object_agg(s.key, jsonb_build_object('before', to_jsonb(v_stream) -> s.key, 'after', s.value))
  into v_changes
  from jsonb_each(v_settings) s
  where to_jsonb(v_stream) -> s.key is distinct from s.value;
  if v_changes is not null then
    perform signalbox._audit_stream(
      'stream.configure', configure_stream.name, jsonb_build_object('changes', v_changes)
    );
  end if;
  v_stream := jsonb_populate_record(v_stream, v_settings);
  update signalbox.stream s
  set retention_seconds = v_stream.retention_seconds,
    retention_bytes = v_stream.retention_bytes,
    retention_messages = v_stream.retention_messages,
    compaction = v_stream.compaction,
    dedup_window_seconds = v_stream.dedup_window_seconds,
    max_payload_bytes = v_stream.max_payload_bytes,
    closed = v_stream.closed,
    alert_group_lag_seconds = v_stream.alert_group_lag_seconds
  where s.stream_id = v_stream.stream_id;
  return v_stream.stream_id;
end $$;
