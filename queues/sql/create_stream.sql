-- create_stream(name, settings, tenant): make a stream, or find it; returns its id. Idempotent for equal settings: one that
-- exists with other settings is an error that names the first that differs. Settings: partitions (1 to 64, for good),
-- retention_seconds, max_payload_bytes, closed, alert_group_lag_seconds. Locks nothing but the new rows; the table of the
-- new stream is built apart and attached, so appenders and readers of others notice nothing.
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
    select t.tenant_id into v_tenant_id from signalbox.tenant t where t.name = coalesce(create_stream.tenant, 'default');
    v_stream := jsonb_populate_record(null::signalbox.stream, signalbox._stream_defaults() || v_settings);
    insert into signalbox.stream (
      name, tenant_id, partitions, retention_seconds, max_payload_bytes, closed, alert_group_lag_seconds
    )
    values (
      create_stream.name, v_tenant_id, v_stream.partitions, v_stream.retention_seconds, v_stream.max_payload_bytes,
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

create or replace function signalbox._stream_defaults() returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select '{
    "partitions": 4,
    "retention_seconds": 604800,
    "max_payload_bytes": 262144,
    "closed": false,
    "alert_group_lag_seconds": 300
  }'::jsonb
$$;

-- Unknown names, wrong types and values out of range are errors that name the setting.
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
      ('max_payload_bytes', 1, 262144, true),
      ('alert_group_lag_seconds', 1, 31536000, false),
      ('closed', null, null, null)
    ) k(name, low, high, whole) on k.name = g.key
  loop
    if v_setting.name is null then
      perform signalbox._refuse(left(v_setting.key, 60), format('is no setting of a stream: those are %s', (
        select string_agg(d, ', ' order by d) from jsonb_object_keys(signalbox._stream_defaults()) d
      )));
    elsif v_setting.key = 'closed' then
      if jsonb_typeof(v_setting.value) <> 'boolean' then
        perform signalbox._refuse('closed', format('is %s: it must be true or false', v_setting.value));
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

create or replace function signalbox._check_stream_name(p_field text, p_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name is null or p_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$' then
    perform signalbox._refuse(
      p_field, format('%s: a name has 1 to 90 letters, digits, dots, dashes and underscores, and starts with a letter or digit',
        coalesce(quote_literal(left(p_name, 120)), 'null'))
    );
  end if;
end $$;

create or replace function signalbox._compare_stream(p_stream_id integer, p_settings jsonb, p_tenant text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stream signalbox.stream;
  v_other text;
begin
  select * into v_stream from signalbox.stream s where s.stream_id = p_stream_id;
  perform from signalbox.tenant t where t.tenant_id = v_stream.tenant_id and t.name <> p_tenant;
  if found then
    perform signalbox._refuse('tenant', format('is %s here, and the stream %s belongs to another',
      quote_literal(p_tenant), quote_literal(v_stream.name)));
  end if;
  select s.key into v_other from jsonb_each(p_settings) s where to_jsonb(v_stream) -> s.key is distinct from s.value limit 1;
  if found then
    perform signalbox._refuse(v_other, format('is %s in the stream %s that exists, and %s here',
      to_jsonb(v_stream) -> v_other, quote_literal(v_stream.name), p_settings -> v_other));
  end if;
end $$;

-- The table of a new stream, its first segments, and its sequences: one for the turns of messages without a key, and one
-- for the positions of each partition.
-- With the owner's rights, since only the owner may attach a table; only for a stream that has none yet.
create or replace function signalbox._equip_stream(p_stream_id integer, p_partitions integer) returns void
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_id integer := p_stream_id;
begin
  perform from signalbox.stream s where s.stream_id = v_id and s.turn is null and s.partitions = p_partitions for update;
  if not found then
    perform signalbox._refuse('stream', 'is equipped already, or does not exist');
  end if;
  execute format(
    'create table signalbox.%I (like signalbox.stream_message including defaults) partition by range (appended_at)', 'stream_message_' || v_id
  );
  perform signalbox._identify_partition('stream_message_' || v_id, 'stream_message');
  execute format(
    'alter table signalbox.stream_message attach partition signalbox.%I for values in (%s)', 'stream_message_' || v_id, v_id
  );
  execute format('create sequence signalbox.%I minvalue 0 start 0', 'stream_turn_' || v_id);
  perform signalbox._share(format('signalbox.stream_turn_%s', v_id)::regclass, 'signalbox.message_id');
  for p in 0..p_partitions - 1 loop
    execute format('create sequence signalbox.%I cache 1', format('stream_position_%s_%s', v_id, p));
    perform signalbox._share(format('signalbox.stream_position_%s_%s', v_id, p)::regclass, 'signalbox.message_id');
  end loop;
  perform signalbox._share(format('signalbox.stream_message_%s', v_id)::regclass, 'signalbox.stream_message');
  update signalbox.stream s
  set turn = ('signalbox.stream_turn_' || v_id)::regclass,
    positions = array(
      select format('signalbox.stream_position_%s_%s', v_id, p)::regclass from generate_series(0, p_partitions - 1) p
    )
  where s.stream_id = v_id;
  insert into signalbox.stream_partition (stream_id, partition) select v_id, p from generate_series(0, p_partitions - 1) p;
  perform signalbox._ensure_stream_segments(v_id);
end $$;
revoke execute on function signalbox._equip_stream(integer, integer) from public;
