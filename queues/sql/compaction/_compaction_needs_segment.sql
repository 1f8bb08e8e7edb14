-- Return whether a stream with compaction still needs a segment, however old it is: it has the newest message of a key,
-- or messages that are not compacted yet, or an open transaction writes to it. One look at pg_locks, then, in a later
-- snapshot, a probe of stream_key and one of the segment for each partition.
create or replace function signalbox._compaction_needs_segment(p_segment signalbox.stream_segment) returns boolean
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_needed boolean;
begin
  perform from pg_locks l
  where l.locktype = 'relation' and l.mode = 'RowExclusiveLock'
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.relation = to_regclass(format('signalbox.%I', p_segment.table_name));
  if found then
    return true;
  end if;
  perform from signalbox.stream_key k
  where k.stream_id = p_segment.stream_id and k.appended_at >= p_segment.starts_at
    and k.appended_at < p_segment.ends_at
  limit 1;
  if found or to_regclass(format('signalbox.%I', p_segment.table_name)) is null then
    return found;
  end if;
  execute format(
    'select exists (select from signalbox.stream_partition f where f.stream_id = $1 and exists ('
    'select from signalbox.%I m where m.partition = f.partition and m.position > f.compacted_position))',
    p_segment.table_name
  )
  into v_needed
  using p_segment.stream_id;
  return v_needed;
end $$;
