-- The position of each partition of a stream up to which it may be compacted: its horizon, and the last archived
-- position where history waits for the archive.
create or replace function signalbox._compactable(p_stream signalbox.stream) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_horizons bigint[] := signalbox._horizons(p_stream.stream_id, p_stream.positions);
begin
  if signalbox._archived_below() is null then
    return v_horizons;
  end if;
  return array(
    select least(v_horizons[f.partition + 1], f.archived_position)
    from signalbox.stream_partition f
    where f.stream_id = p_stream.stream_id
    order by f.partition
  );
end $$;
