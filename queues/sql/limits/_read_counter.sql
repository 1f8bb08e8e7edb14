-- The value of a sequence that counts, 0 before its first. Inlined by the planner.
create or replace function signalbox._read_counter(p_register regclass) returns bigint
language sql volatile
begin atomic
  select coalesce(pg_sequence_last_value(p_register), 0);
end;
