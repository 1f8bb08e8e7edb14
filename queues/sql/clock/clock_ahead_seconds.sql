-- clock_ahead_seconds(): how far the engine's clock is ahead of the server's clock, or 0. The engine's clock is ahead
-- after the server's clock was ahead while upkeep ran, and was then corrected: only reset_clock moves the engine's
-- clock back.
create or replace function signalbox.clock_ahead_seconds() returns double precision
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select greatest(date_part('epoch', signalbox._clock_at() - clock_timestamp()), 0)
$$;
