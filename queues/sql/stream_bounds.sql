-- stream_bounds(stream): what can be read of each partition without a group: from the first position that retention has left up to
-- the horizon (_horizons), below which no transaction can still commit. The last is one less than the first where that is nothing.
-- Read the messages in a later statement, and ask again afterwards: where a first position has moved behind what was read,
-- retention has dropped some of it. drawn_position is the last that anybody has drawn. Moves nothing. Cost: the stream's few rows and pg_locks.
create or replace function signalbox.stream_bounds(stream text)
returns table (stream_id integer, partition integer, first_position bigint, last_position bigint, drawn_position bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream := signalbox._stream_of(stream_bounds.stream);
  v_horizons bigint[];
begin
  v_horizons := signalbox._horizons(v_stream.stream_id, v_stream.positions);
  return query
  select f.stream_id, f.partition::integer, f.first_position, greatest(v_horizons[f.partition + 1], f.first_position - 1),
    coalesce(pg_sequence_last_value(v_stream.positions[f.partition + 1]), 0)
  from signalbox.stream_partition f
  where f.stream_id = v_stream.stream_id
  order by f.partition;
end $$;
