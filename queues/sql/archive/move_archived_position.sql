-- move_archived_position(stream_id, partition, low, high): record that positions `low` to `high` of a partition are
-- archived, with all before them. Call it in the transaction that records the archived files. Returns false and moves
-- nothing when they do not follow the last archived position: another run has moved it, or the stream was deleted.
create or replace function signalbox.move_archived_position(
  stream_id integer, partition integer, low bigint, high bigint
) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if move_archived_position.high < move_archived_position.low then
    perform signalbox._refuse('high', format('is %s: it must not be below low', move_archived_position.high));
  end if;
  update signalbox.stream_partition f
  set archived_position = move_archived_position.high
  where f.stream_id = move_archived_position.stream_id and f.partition = move_archived_position.partition
    and f.archived_position = move_archived_position.low - 1;
  return found;
end $$;
