-- The pattern of names that only Signalbox gives: '<name>-dlq-<number>'. Names of queues are one list for all tenants,
-- and a dead-letter queue always needs a free name.
create or replace function signalbox._reserved_names() returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select '-dlq-[0-9]+$'
$$;
