-- Return the engine's clock as a time.
create or replace function signalbox._clock_at() returns timestamptz
language sql volatile
begin atomic
  select timestamptz 'epoch' + coalesce(
    pg_sequence_last_value('signalbox.clock'::regclass), 0
  ) * interval '1 microsecond';
end;
