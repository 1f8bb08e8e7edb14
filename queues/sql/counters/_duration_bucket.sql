-- The bucket of a duration in milliseconds, from 1. Signs are turned round, since width_bucket puts a bound into the
-- bucket after it, and a bound is part of its bucket here. Inlined by the planner.
create or replace function signalbox._duration_bucket(p_ms integer) returns integer
language sql immutable
begin atomic
  select {duration.buckets} - width_bucket(-p_ms::double precision, {duration.negative_bounds_ms});
end;
