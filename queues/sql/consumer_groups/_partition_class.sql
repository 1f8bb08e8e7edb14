-- The first key of a partition's advisory locks: below zero, where the engine has no other lock.
create or replace function signalbox._partition_class(p_stream_id integer, p_partition integer) returns integer
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select -(p_stream_id * 64 + p_partition + 1)
$$;
