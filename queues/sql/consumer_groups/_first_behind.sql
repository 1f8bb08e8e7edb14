-- Return the first message above one position and up to another (p_through). A probe of each segment's primary key.
create or replace function signalbox._first_behind(
  p_stream_id integer, p_partition integer, p_position bigint, p_through bigint, out "position" bigint,
  out appended_at timestamptz
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format(
    'select m.position, m.appended_at from signalbox.%I m'
    ' where m.partition = $1::smallint and m.position > $2 and m.position <= $3 order by m.position limit 1',
    'stream_message_' || p_stream_id
  )
  into position, appended_at
  using p_partition, p_position, p_through;
end $$;
