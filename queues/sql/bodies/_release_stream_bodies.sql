-- Delete the pointers of deleted messages of a stream to their large bodies, and return the hashes of these. A reader may
-- have got a pointer just before, so such a body counts as claimed now: the collector leaves it the time in which it can
-- still be fetched. Indexes: stream_body_pointer_pkey, once for each message, and large_body_pkey.
create or replace function signalbox._release_stream_bodies(
  p_stream_id integer, p_partitions smallint[], p_positions bigint[]
) returns bytea[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sha256 bytea;
  v_released bytea[] := '{}';
begin
  for i in 1..coalesce(cardinality(p_positions), 0) loop
    delete from signalbox.stream_body_pointer b
    where b.stream_id = p_stream_id and b.partition = p_partitions[i] and b.position = p_positions[i]
    returning b.sha256 into v_sha256;
    if found then
      v_released := v_released || v_sha256;
    end if;
  end loop;
  if v_released <> '{}' then
    update signalbox.large_body b
    set last_claimed_at = clock_timestamp()
    where b.sha256 = any(array(
      select c.sha256
      from signalbox.large_body c
      where c.sha256 = any(v_released)
      for no key update skip locked -- a sender has the row, and claims the body now
    ));
  end if;
  return v_released;
end $$;
