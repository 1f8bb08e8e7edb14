-- The bytes of a segment on disk, with its index and large values, from the file system; 0 if it was dropped.
create or replace function signalbox._segment_bytes(p_table text) returns bigint
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(pg_total_relation_size(to_regclass(format('signalbox.%I', p_table))), 0)
$$;
