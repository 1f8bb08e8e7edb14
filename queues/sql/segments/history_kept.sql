-- history_kept(): how long history and bodies are kept: the longest retention of any queue, and one day more.
create or replace function signalbox.history_kept() returns interval
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    max(q.retention_seconds) filter (where not q.is_dead_letter_queue), 345600
  ) * interval '1 second' + interval '1 day'
  from signalbox.queue q
$$;
