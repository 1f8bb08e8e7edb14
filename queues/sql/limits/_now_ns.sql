-- The time in nanoseconds, as admission counters keep it. Inlined by the planner.
create or replace function signalbox._now_ns() returns bigint
language sql volatile
begin atomic
  select (date_part('epoch', clock_timestamp()) * 1000000)::bigint * 1000;
end;
