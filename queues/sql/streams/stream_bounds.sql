-- stream_bounds(stream): which positions of each partition can be read without a group: from the first position that
-- retention has left, up to the horizon (_horizons), below which no transaction can still commit. The last is one less
-- than the first where nothing can be read. Read the messages in a later statement and call it again afterwards: where
-- a first position has moved behind messages that were read, retention has dropped some of them. drawn_position is the
-- last position that was drawn. Moves nothing. Cost: the stream's few rows and pg_locks.
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
  select f.stream_id, f.partition::integer, f.first_position,
    greatest(v_horizons[f.partition + 1], f.first_position - 1),
    coalesce(pg_sequence_last_value(v_stream.positions[f.partition + 1]), 0)
  from signalbox.stream_partition f
  where f.stream_id = v_stream.stream_id
  order by f.partition;
end $$;
