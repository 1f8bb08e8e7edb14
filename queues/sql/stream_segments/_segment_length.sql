-- The length of a segment: an eighth of the retention, which is the most that a stream holds beyond it.
create or replace function signalbox._segment_length(p_retention_seconds double precision) returns interval
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select least(greatest(round(p_retention_seconds / 8), 60), 86400) * interval '1 second'
$$;
