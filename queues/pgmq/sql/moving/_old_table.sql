-- Return the table in which pgmq kept the messages of a queue; null where it is gone, or never was.
create or replace function pgmq._old_table(p_queue_name text) returns regclass
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select to_regclass(format('pgmq.%I', 'q_' || lower(p_queue_name)))
$$;
