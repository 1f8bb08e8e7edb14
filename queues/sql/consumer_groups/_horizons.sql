-- The horizon of each partition: up to there every position is committed, or rolled back. It reads first the last
-- positions that were drawn, then which transactions may still commit below them; only a later statement may read
-- messages. A transaction that has drawn one of these positions is either seen in pg_locks or has ended, and then a new
-- snapshot sees its messages.
create or replace function signalbox._horizons(p_stream_id integer, p_positions regclass[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last bigint[];
  v_horizons bigint[];
  v_held record;
  v_at integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('reading a stream');
  end if;
  v_last := array(
    select coalesce(pg_sequence_last_value(p), 0) from unnest(p_positions) with ordinality u(p, place) order by place
  );
  v_horizons := v_last;
  for v_held in
    select l.classid::bigint - 4294967296 as class, l.objid::bigint as low
    from pg_locks l
    where l.locktype = 'advisory'
      and l.objsubid = 2
      and l.classid::bigint - 4294967296
        between signalbox._partition_class(p_stream_id, 63) and signalbox._partition_class(p_stream_id, 0)
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
  loop
    v_at := -v_held.class - p_stream_id * 64;
    -- A signed half: a transaction that entered after the positions were read is above them and lowers no horizon.
    v_horizons[v_at] := least(v_horizons[v_at], v_last[v_at] - (v_last[v_at] - v_held.low)::bit(32)::integer);
  end loop;
  return v_horizons;
end $$;
