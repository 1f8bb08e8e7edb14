-- Return whether the archive still needs a segment of a stream: it has a message behind the last archived position of
-- its partition. One probe of the segment's primary key for each partition, and none without an archive.
create or replace function signalbox._archive_needs_segment(p_stream_id integer, p_table text) returns boolean
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_needed boolean := false;
begin
  if signalbox._archived_below() is not null and to_regclass(format('signalbox.%I', p_table)) is not null then
    execute format(
      'select exists (select from signalbox.stream_partition f where f.stream_id = $1 and exists ('
      'select from signalbox.%I m where m.partition = f.partition and m.position > f.archived_position))',
      p_table
    )
    into v_needed
    using p_stream_id;
  end if;
  return v_needed;
end $$;
