-- The number of messages of each range (stream, partition, low, high), in the order of the ranges. Reads only the
-- primary keys of the segments.
select (
  select count(*)
  from signalbox.stream_message m
  where m.stream_id = r.stream_id and m.partition = r.partition and m.position between r.low and r.high
)
from unnest(%s::integer[], %s::smallint[], %s::bigint[], %s::bigint[])
  with ordinality r(stream_id, partition, low, high, place)
order by r.place
