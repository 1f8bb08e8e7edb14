-- Check settings of a stream: unknown names, wrong types and values out of range are errors that name the setting.
create or replace function signalbox._check_stream_settings(p_settings jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting record;
  v_number numeric;
begin
  if jsonb_typeof(coalesce(p_settings, '{}')) <> 'object' then
    perform signalbox._refuse('settings', 'must be a JSON object');
  end if;
  for v_setting in
    select g.key, g.value, k.low, k.high, k.whole, k.name
    from jsonb_each(coalesce(p_settings, '{}')) g
    left join (values
      ('partitions', 1, 64, true),
      ('retention_seconds', 3600, 315360000, false),
      ('retention_bytes', 0, 1000000000000000, true),
      ('retention_messages', 0, 1000000000000000, true),
      ('max_payload_bytes', 1, 262144, true),
      ('dedup_window_seconds', 1, 86400, false),
      ('alert_group_lag_seconds', 1, 31536000, false),
      ('compaction', null, null, null),
      ('closed', null, null, null)
    ) k(name, low, high, whole) on k.name = g.key
  loop
    if v_setting.name is null then
      perform signalbox._refuse(left(v_setting.key, 60), format('is no setting of a stream: those are %s', (
        select string_agg(d, ', ' order by d) from jsonb_object_keys(signalbox._stream_defaults()) d
      )));
    elsif v_setting.low is null then
      if jsonb_typeof(v_setting.value) <> 'boolean' then
        perform signalbox._refuse(v_setting.key, format('is %s: it must be true or false', v_setting.value));
      end if;
    elsif jsonb_typeof(v_setting.value) <> 'number' then
      perform signalbox._refuse(v_setting.key, format('is %s: it must be a number', v_setting.value));
    else
      v_number := v_setting.value::numeric;
      if v_number not between v_setting.low and v_setting.high or v_setting.whole and v_number <> trunc(v_number) then
        perform signalbox._refuse(v_setting.key, format('is %s: it must be a %snumber from %s to %s',
          v_setting.value, case when v_setting.whole then 'whole ' else '' end, v_setting.low, v_setting.high));
      end if;
    end if;
  end loop;
  return coalesce(p_settings, '{}');
end $$;
