-- set_group_filter(stream, group_name, filter): let a consumer group read only the messages that a filter selects:
-- configure_group with this filter. Returns whether the filter changed.
create or replace function signalbox.set_group_filter(stream text, group_name text, filter text) returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  select c.changed
  from signalbox.configure_group(
    set_group_filter.stream, set_group_filter.group_name,
    jsonb_build_object('filter', coalesce(set_group_filter.filter, ''))
  ) c
$$;
