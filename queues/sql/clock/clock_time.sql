-- clock_time(): the time of a ticket: the later of the wall clock and signalbox.clock, which upkeep moves forward. Only
-- reset_clock moves it back. Call it only inside the statement that inserts the ticket: that statement's lock on the
-- table tells the claim floor that no earlier ticket can still appear. Inlined by the planner: no locks, no queries.
create or replace function signalbox.clock_time() returns timestamptz
language sql volatile parallel unsafe
begin atomic
  select greatest(
    clock_timestamp(),
    timestamptz 'epoch' + pg_sequence_last_value('signalbox.clock'::regclass) * interval '1 microsecond'
  );
end;
