-- The bytes that the segments of a stream have on disk. Reads the list of segments and sizes of files, no messages.
select coalesce(sum(signalbox._segment_bytes(table_name)), 0)::bigint
from signalbox.stream_segment
where stream_id = %s
