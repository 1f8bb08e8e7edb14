-- compact_streams(max_messages, settled, tombstones): of each stream with the setting `compaction`, delete messages
-- that a newer one with the same key replaces, and tombstones (messages with a key and the payload null) that are older
-- than `tombstones`. Messages without a key stay. Looks at messages older than `settled` and up to the horizon
-- (_horizons), below which nothing can still appear, and of a stream that the archive needs only at archived ones. Each
-- partition goes on where the last call ended; one call looks at no more than max_messages. Waits 100 ms for a row that
-- an erasure has. Returns how many messages it deleted.
create or replace function signalbox.compact_streams(
  max_messages integer default 2000, settled interval default '1 hour', tombstones interval default '1 day'
) returns bigint
language plpgsql
set lock_timeout = '100ms'
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left integer := compact_streams.max_messages;
  v_stream signalbox.stream;
  v_through bigint[];
  v_step record;
  v_deleted bigint := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('signalbox.compact_streams')) then
    return 0;
  end if;
  for v_stream in
    select s.* from signalbox.stream s where s.compaction order by random() -- so that none is always the last
  loop
    v_through := signalbox._compactable(v_stream);
    for p in 0..v_stream.partitions - 1 loop
      exit when v_left <= 0;
      begin
        select * into v_step
        from signalbox._compact_partition(
          v_stream.stream_id, p, v_through[p + 1], v_left, clock_timestamp() - compact_streams.settled
        );
        v_left := v_left - v_step.looked;
        v_deleted := v_deleted + v_step.deleted;
      exception
        when lock_not_available then
          null; -- the next call
      end;
    end loop;
    v_deleted := v_deleted + signalbox._drop_tombstones(
      v_stream.stream_id, v_through, greatest(v_left, 0), clock_timestamp() - compact_streams.tombstones
    );
  end loop;
  return v_deleted;
end $$;
