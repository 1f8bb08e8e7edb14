-- The name that is reserved for a dead-letter queue whose plain name is taken: '<name>-dlq-<number>'.
create or replace function signalbox._reserved_name(p_name text, p_number integer) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select left(p_name, 84) || '-dlq-' || p_number
$$;
