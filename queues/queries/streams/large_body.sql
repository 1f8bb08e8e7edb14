-- The hash and the size of the large body of a message of a stream, and its attributes; no row without such a body.
select encode(b.sha256, 'hex'), b.bytes, m.attributes::text
from signalbox.stream_body_pointer b
join signalbox.stream_message m on m.stream_id = b.stream_id and m.partition = b.partition and m.position = b.position
  and m.appended_at = b.appended_at
where b.stream_id = %s and b.partition = %s and b.position = %s
