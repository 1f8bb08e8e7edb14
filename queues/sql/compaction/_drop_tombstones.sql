-- Delete tombstones of a stream that were appended before a time, up to a position of each partition, with what
-- stream_key has of their keys. No older message of such a key is left that could appear again.
create or replace function signalbox._drop_tombstones(
  p_stream_id integer, p_through bigint[], p_limit integer, p_before timestamptz
) returns bigint
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_deleted bigint;
begin
  execute format($drop$
    with old as materialized (
      select k.partition, k.key, k.position, k.appended_at
      from signalbox.stream_key k
      where k.stream_id = $1 and k.tombstone and k.appended_at < $2 and k.position <= ($4::bigint[])[k.partition + 1]
      order by k.appended_at
      limit $3
    ), forgotten as (
      delete from signalbox.stream_key k
      using old o
      where k.stream_id = $1 and k.key = o.key
    ), gone as (
      delete from signalbox.%I m
      using old o
      where m.partition = o.partition and m.position = o.position and m.appended_at = o.appended_at
      returning 1
    )
    select count(*) from gone
    $drop$,
    'stream_message_' || p_stream_id
  )
  into v_deleted
  using p_stream_id, p_before, p_limit, p_through;
  return v_deleted;
exception
  when lock_not_available then
    return 0; -- the next call
end $$;
