-- The steps in which the history of consumer groups is kept.
create or replace function signalbox._group_history_steps()
returns table (seconds integer, table_name text, finer text, kept interval, part interval)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    (10, 'group_history', null, interval '1 hour', interval '1 hour'),
    (60, 'group_history_minute', 'group_history', interval '1 day', interval '6 hours'),
    (600, 'group_history_ten_minutes', 'group_history_minute', interval '14 days', interval '1 day')
$$;
