-- The bucket of a duration in milliseconds, from 1. Computed with negative values: width_bucket puts a value equal to a
-- bound into the next bucket, and here that value belongs to the bucket that the bound ends. Inlined by the planner.
create or replace function signalbox._duration_bucket(p_ms integer) returns integer
language sql immutable
begin atomic
  select {duration.buckets} - width_bucket(-p_ms::double precision, {duration.negative_bounds_ms});
end;
