-- Look at the next messages of a partition, up to p_through and to the first that is not older than p_before: note the
-- newest of each key, and delete the ones before it. Until the next call each key has one message up to the compacted
-- positions: the one in stream_key. If the key was in another partition before the number of partitions grew, the later
-- of the two messages stays. A message with a large body is no tombstone, and gives its body free. Messages are deleted by partition, position and time: one probe of one segment each.
create or replace function signalbox._compact_partition(
  p_stream_id integer, p_partition integer, p_through bigint, p_limit integer, p_before timestamptz,
  out looked integer, out deleted bigint
)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_behind bigint;
  v_last bigint;
  v_released bytea[];
begin
  select f.compacted_position into v_behind
  from signalbox.stream_partition f
  where f.stream_id = p_stream_id and f.partition = p_partition;
  looked := 0;
  deleted := 0;
  if v_behind >= p_through then
    return;
  end if;
  execute format($compact$
    with taken as materialized (
      select m.position, m.key, m.appended_at,
        m.payload = 'null' and signalbox._stream_body($1, m.partition, m.position) is null as tombstone
      from signalbox.%1$I m
      where m.partition = $2::smallint and m.position > $3 and m.position <= $4
      order by m.position
      limit $5
    ), looked as materialized (
      select t.*, row_number() over (partition by t.key order by t.position desc) as place
      from taken t
      where not exists (select from taken y where y.appended_at >= $6)
        or t.position < (select min(y.position) from taken y where y.appended_at >= $6)
    ), newest as materialized (
      select l.key, l.position, l.appended_at, l.tombstone, k.partition as k_partition, k.position as k_position,
        k.appended_at as k_appended_at,
        k.key is null or k.partition = $2::smallint or k.appended_at <= l.appended_at as wins
      from looked l
      left join signalbox.stream_key k on k.stream_id = $1 and k.key = l.key
      where l.key is not null and l.place = 1
    ), replaced as materialized (
      select $2::smallint as partition, l.position, l.appended_at
      from looked l
      where l.key is not null and l.place > 1
      union all
      select n.k_partition, n.k_position, n.k_appended_at from newest n where n.wins and n.k_partition is not null
      union all
      select $2::smallint, n.position, n.appended_at from newest n where not n.wins
    ), noted as (
      insert into signalbox.stream_key as k (stream_id, partition, key, position, appended_at, tombstone)
      select $1, $2, n.key, n.position, n.appended_at, n.tombstone from newest n where n.wins
      on conflict (stream_id, key) do update
      set partition = excluded.partition, position = excluded.position, appended_at = excluded.appended_at,
        tombstone = excluded.tombstone
    ), gone as (
      delete from signalbox.%1$I m
      using replaced r
      where m.partition = r.partition and m.position = r.position and m.appended_at = r.appended_at
      returning m.partition, m.position, m.payload = 'null' as bare
    )
    select (select count(*) from looked), (select count(*) from gone),
      coalesce((select max(l.position) from looked l), case when not exists (select from taken) then $4 end),
      (select signalbox._release_stream_bodies($1, array_agg(g.partition), array_agg(g.position)) from gone g where g.bare)
    $compact$,
    'stream_message_' || p_stream_id
  )
  into looked, deleted, v_last, v_released
  using p_stream_id, p_partition, v_behind, p_through, p_limit, p_before;
  update signalbox.stream_partition f
  set compacted_position = v_last
  where f.stream_id = p_stream_id and f.partition = p_partition and v_last is not null;
end $$;
