-- Milliseconds since a claim, or since a message became visible, as history and counters keep them: 0 if the clock was
-- set back since. Inlined by the planner.
create or replace function signalbox._work_ms(p_leased_at timestamptz) returns integer
language sql volatile
begin atomic
  select greatest(0, least(date_part('epoch', clock_timestamp() - p_leased_at) * 1000, 2147483647))::integer;
end;
