-- Return whether a leading upkeep moves the clock; without it no claim floor is trusted (floor_time).
create or replace function signalbox._floors_are_kept() returns boolean
language sql volatile
begin atomic
  select coalesce(pg_sequence_last_value('signalbox.clock'::regclass)
    > date_part('epoch', clock_timestamp()) * 1000000 - 10000000, false);
end;
