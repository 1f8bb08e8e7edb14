-- create_stream(name, settings, tenant): make a stream, or find it. Returns its id. Idempotent for equal settings: a
-- stream that exists with other settings is an error that names the first setting that differs. Settings: partitions (1
-- to 64), retention_seconds, retention_bytes, retention_messages, compaction, dedup_window_seconds, max_payload_bytes,
-- closed, alert_group_lag_seconds. Locks only the new rows; the new stream's table is built separately and attached, so
-- that appenders and readers of other streams notice nothing.
create or replace function signalbox.create_stream(name text, settings jsonb default '{}', tenant text default null)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_settings jsonb := signalbox._check_stream_settings(create_stream.settings);
  v_stream signalbox.stream;
  v_tenant_id integer;
begin
  perform signalbox._check_stream_name('name', create_stream.name);
  if length(create_stream.tenant) not between 1 and 100 then
    perform signalbox._refuse('tenant', 'must have from 1 to 100 characters');
  end if;
  perform from signalbox.stream s where s.name = create_stream.name;
  if not found then
    insert into signalbox.tenant (name) values (coalesce(create_stream.tenant, 'default')) on conflict do nothing;
    select t.tenant_id into v_tenant_id from signalbox.tenant t
      where t.name = coalesce(create_stream.tenant, 'default');
    v_stream := jsonb_populate_record(null::signalbox.stream, signalbox._stream_defaults() || v_settings);
    insert into signalbox.stream (
      name, tenant_id, partitions, retention_seconds, retention_bytes, retention_messages, compaction,
      dedup_window_seconds, max_payload_bytes, closed, alert_group_lag_seconds
    )
    values (
      create_stream.name, v_tenant_id, v_stream.partitions, v_stream.retention_seconds, v_stream.retention_bytes,
      v_stream.retention_messages, v_stream.compaction, v_stream.dedup_window_seconds, v_stream.max_payload_bytes,
      v_stream.closed, v_stream.alert_group_lag_seconds
    )
    on conflict (name) do nothing
    returning * into v_stream;
    if found then
      perform signalbox._equip_stream(v_stream.stream_id, v_stream.partitions);
      perform signalbox._audit_stream('stream.create', create_stream.name, jsonb_build_object('settings', v_settings));
      return v_stream.stream_id;
    end if;
  end if;
  select * into v_stream from signalbox.stream s where s.name = create_stream.name;
  perform signalbox._compare_stream(v_stream.stream_id, v_settings, create_stream.tenant);
  return v_stream.stream_id;
end $$;
