-- The steps of history, the finest first: into which step each is rolled up, how long it is kept, and how much time a
-- partition holds.
create or replace function signalbox._history_steps()
returns table (step_seconds integer, next_seconds integer, table_name text, kept interval, part interval)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    (10, 60, 'queue_history', interval '1 hour', interval '1 hour'),
    (60, 600, 'queue_history_minute', interval '1 day', interval '6 hours'),
    (600, null, 'queue_history_ten_minutes', interval '14 days', interval '1 day')
$$;
