-- How many of the next messages that a group has not committed a filter would skip. Up to c_examined messages are
-- examined, the same number of each partition. Reads what is committed by now; moves nothing.
create or replace function signalbox._preview_filter(
  p_stream signalbox.stream, p_group_id integer, p_conditions jsonpath[], p_negated boolean[],
  out examined bigint, out skipped bigint
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  c_examined constant integer := 1000;
begin
  select count(*),
    count(*) filter (
      where not signalbox._selects(p_conditions, p_negated, r.payload, r.attributes, r.key, null, r.trace_id)
    )
  into examined, skipped
  from signalbox.group_partitions(array[p_group_id]) g
  cross join lateral signalbox._read_partition(
    p_stream.stream_id, g.partition, greatest(g.committed, g.first_position - 1), g.last_position,
    greatest(c_examined / p_stream.partitions, 1), g.first_position
  ) r;
end $$;
