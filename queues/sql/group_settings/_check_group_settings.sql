-- Check settings of a consumer group: unknown names, wrong types, values out of range, and settings of subscriptions
-- for a group that feeds no queue are errors that name the setting.
create or replace function signalbox._check_group_settings(p_group signalbox.consumer_group, p_settings jsonb)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting record;
begin
  if jsonb_typeof(coalesce(p_settings, '{}')) <> 'object' then
    perform signalbox._refuse('settings', 'must be a JSON object');
  end if;
  for v_setting in
    select g.key, g.value, jsonb_typeof(g.value) as type, k.needed, k.types, k.low, k.high
    from jsonb_each(coalesce(p_settings, '{}')) g
    left join (values
      ('filter', 'text', array['string'], null, null),
      ('queue_window', 'a whole number', array['number'], 1, 100000),
      ('delay_seconds', 'null or a number', array['null', 'number'], 0, 31536000),
      ('paused', 'true or false', array['boolean'], null, null)
    ) k(name, needed, types, low, high) on k.name = g.key
  loop
    if v_setting.needed is null then
      perform signalbox._refuse(left(v_setting.key, 60),
        'is no setting of a group: those are delay_seconds, filter, paused, queue_window');
    elsif v_setting.key <> 'filter' and p_group.queue_id is null then
      perform signalbox._refuse(v_setting.key, format('is a setting of subscriptions: the group %s feeds no queue',
        quote_literal(p_group.name)));
    elsif v_setting.type <> all(v_setting.types) then
      perform signalbox._refuse(v_setting.key, format('is %s: it must be %s', left(v_setting.value::text, 120),
        v_setting.needed));
    elsif v_setting.type = 'number' and not (
      v_setting.value::numeric between v_setting.low and v_setting.high
      and (v_setting.key <> 'queue_window' or v_setting.value::numeric = trunc(v_setting.value::numeric))
    ) then
      perform signalbox._refuse(v_setting.key, format('is %s: it must be %s from %s to %s', v_setting.value,
        v_setting.needed, v_setting.low, v_setting.high));
    end if;
  end loop;
  if (p_settings ->> 'delay_seconds')::double precision > 0
    and (select q.mode from signalbox.queue q where q.queue_id = p_group.queue_id) = 'fifo' then
    perform signalbox._refuse('delay_seconds', 'must be 0 or null: a FIFO queue delays no message');
  end if;
  return coalesce(p_settings, '{}');
end $$;
