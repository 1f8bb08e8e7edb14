-- An event as the stream takes it: without contents that are too large, which "omitted" names, and as text where
-- clients could not read it.
create or replace function signalbox._fitting_event(p_event jsonb, p_max_bytes integer) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when octet_length(p_event::text) <= p_max_bytes then signalbox._made_readable(p_event)
    when octet_length((p_event - 'before')::text) <= p_max_bytes - 100
      then signalbox._made_readable(p_event || '{"before": null, "omitted": ["before"]}')
    else p_event || '{"before": null, "after": null, "omitted": ["before", "after"]}'
  end
$$;
