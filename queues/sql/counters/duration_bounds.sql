-- duration_bounds(): the upper bounds of the buckets of durations, in seconds. A bound is part of its bucket. A wait
-- target is one of them.
create or replace function signalbox.duration_bounds() returns double precision[]
language sql immutable
begin atomic
  select {duration.bounds};
end;
