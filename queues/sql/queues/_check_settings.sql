-- Check settings; an error names the first that is wrong. Table: setting_definition.
create or replace function signalbox._check_settings(p_settings jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_given record;
  v_kind text;
begin
  if p_settings is null or jsonb_typeof(p_settings) <> 'object' then
    perform signalbox._refuse('settings', 'must be a JSON object of setting names and values');
  end if;
  for v_given in
    select s.key, s.value, d.kind, d.minimum, d.maximum, d.choices, jsonb_typeof(s.value) as given_kind,
      d.name is not null as known,
      d.default_value
    from jsonb_each(p_settings) s
    left join signalbox.setting_definition d on d.name = s.key
    order by s.key
  loop
    v_kind := v_given.kind;
    if not v_given.known then
      perform signalbox._refuse(left(v_given.key, 60), format('is not a setting; settings are %s',
        (select string_agg(d.name, ', ' order by d.name) from signalbox.setting_definition d)));
    elsif v_given.given_kind = 'null' and v_kind = 'text' then
      continue;
    elsif v_kind in ('number', 'integer') and v_given.given_kind <> 'number' then
      perform signalbox._refuse(v_given.key, format('is %s: it must be a number', v_given.value));
    elsif v_kind = 'integer' and (v_given.value #>> '{}')::numeric <> trunc((v_given.value #>> '{}')::numeric) then
      perform signalbox._refuse(v_given.key, format('is %s: it must be a whole number', v_given.value));
    elsif v_kind in ('number', 'integer')
      and (
        (v_given.value #>> '{}')::numeric < v_given.minimum::numeric
          or (v_given.value #>> '{}')::numeric > v_given.maximum::numeric
      )
    then
      perform signalbox._refuse(
        v_given.key, format('is %s: it must be from %s to %s', v_given.value, v_given.minimum, v_given.maximum)
      );
    elsif v_kind = 'number' and not exists (
      select from unnest(coalesce(v_given.choices, array[v_given.value #>> '{}'])) c
        where c::numeric = (v_given.value #>> '{}')::numeric
    ) then
      perform signalbox._refuse(
        v_given.key, format('is %s: it must be one of %s', v_given.value, array_to_string(v_given.choices, ', '))
      );
    elsif v_kind = 'boolean' and v_given.given_kind <> 'boolean' then
      perform signalbox._refuse(v_given.key, format('is %s: it must be true or false', v_given.value));
    elsif v_kind in ('text', 'choice') and v_given.given_kind <> 'string' then
      perform signalbox._refuse(v_given.key, format('is %s: it must be text', left(v_given.value::text, 80)));
    elsif v_kind = 'choice' and not (v_given.value #>> '{}') = any(v_given.choices) then
      perform signalbox._refuse(
        v_given.key,
        format('is %s: it must be one of %s', left(v_given.value::text, 80), array_to_string(v_given.choices, ', '))
      );
    end if;
  end loop;
  return p_settings;
end $$;
