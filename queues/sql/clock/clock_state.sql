-- clock_state(ahead_until): how far the engine's clock is ahead, and how many rows have a time that results from that,
-- as JSON (see reset_clock). Changes nothing. Reads ready, scheduled, leased and waiting messages.
create or replace function signalbox.clock_state(ahead_until timestamptz default null) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_until timestamptz := coalesce(clock_state.ahead_until, signalbox._clock_at());
begin
  return jsonb_build_object(
    'ahead_seconds', signalbox.clock_ahead_seconds(),
    'ahead_until', v_until,
    'ready', (select count(*) from signalbox.ready r where r.ready_at > v_now),
    'waiting', (select count(*) from signalbox.waiting w where w.waiting_since > v_now),
    'leased', (select count(*) from signalbox._leases_ahead(v_now, v_until)),
    'scheduled', (
      select count(*)
      from signalbox._scheduled_ahead(v_now, v_until, clock_state.ahead_until is not null) s
      where s.due_at is not null
    ),
    'unknown', (
      select count(*)
      from signalbox._scheduled_ahead(v_now, v_until, clock_state.ahead_until is not null) s
      where s.due_at is null
    )
  );
end $$;
