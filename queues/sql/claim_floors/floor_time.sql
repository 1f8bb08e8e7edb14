-- floor_time(floor): the time at which a claim starts to look. No live ticket is older, and no older one can still
-- appear. A floor is trusted only while upkeep is alive (its clock is less than 10 seconds old). Otherwise every claim
-- starts at the first ticket, so that delivery never depends on upkeep. Inlined by the planner.
create or replace function signalbox.floor_time(p_floor regclass) returns timestamptz
language sql volatile
begin atomic
  select case
    when pg_sequence_last_value('signalbox.clock'::regclass)
      > date_part('epoch', clock_timestamp()) * 1000000 - 10000000
    then coalesce(timestamptz 'epoch' + pg_sequence_last_value(p_floor) * interval '1 microsecond', '-infinity')
    else '-infinity'
  end;
end;
