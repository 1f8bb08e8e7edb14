-- unarchived_positions(): what the archive has yet to fetch of each partition of each stream: the positions from `low`,
-- one behind the last archived, through `high`, the horizon (_horizons), below which nothing can still appear. `first`
-- is the first position from `low` on that retention has left. Read the messages in a later statement. Asks pg_locks
-- once for each stream that has such positions; reads no messages.
create or replace function signalbox.unarchived_positions()
returns table (stream_id integer, partition integer, low bigint, first bigint, high bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_horizons bigint[];
begin
  for v_stream in
    select s.*
    from signalbox.stream s
    where exists (
      select
      from signalbox.stream_partition f
      where f.stream_id = s.stream_id
        and pg_sequence_last_value(s.positions[f.partition + 1]) > f.archived_position
    )
    order by s.stream_id
  loop
    v_horizons := signalbox._horizons(v_stream.stream_id, v_stream.positions);
    return query
    select f.stream_id, f.partition::integer, f.archived_position + 1,
      greatest(f.archived_position + 1, f.first_position), v_horizons[f.partition + 1]
    from signalbox.stream_partition f
    where f.stream_id = v_stream.stream_id and f.archived_position < v_horizons[f.partition + 1]
    order by f.partition;
  end loop;
end $$;
