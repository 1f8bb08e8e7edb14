-- announce_appends(since): wake the readers of every stream of which more can be read than before. Returns the value to
-- pass next time; the first time it is an empty object. Upkeep calls it after the appenders have committed: a stream
-- whose last append is still open is announced when its horizon moves (_horizons). Channel signalbox_appended; the
-- payload is a list of names separated by commas. Reads a sequence for each partition, and pg_locks for each stream
-- that was appended to since.
create or replace function signalbox.announce_appends(since jsonb) returns jsonb
language plpgsql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stream record;
  v_readable numeric;
  v_now jsonb := '{}';
  v_names text[] := '{}';
begin
  for v_stream in
    select s.stream_id, s.name, s.positions, (announce_appends.since ->> s.stream_id::text)::numeric as before, p.drawn
    from signalbox.stream s
    cross join lateral (select sum(coalesce(pg_sequence_last_value(u), 0)) as drawn from unnest(s.positions) u) p
  loop
    v_readable := v_stream.drawn;
    if v_stream.drawn is distinct from coalesce(v_stream.before, 0) then
      v_readable := (select sum(h) from unnest(signalbox._horizons(v_stream.stream_id, v_stream.positions)) h);
      if v_readable is distinct from coalesce(v_stream.before, 0) then
        v_names := v_names || v_stream.name;
      end if;
    end if;
    v_now := v_now || jsonb_build_object(v_stream.stream_id, v_readable);
  end loop;
  perform pg_notify('signalbox_appended', string_agg(n.name, ','))
  from unnest(v_names) with ordinality n(name, number)
  group by n.number / 60;
  return v_now;
end $$;
