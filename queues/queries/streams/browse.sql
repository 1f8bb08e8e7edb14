-- Messages of one partition of a stream, as browse_stream returns them, with the hash and the size of a large body.
select m.position, m.key, m.payload_text, m.appended_at, encode(b.sha256, 'hex'), b.bytes
from (select %s::integer as stream_id, %s::text as name, %s::integer as partition) s
cross join lateral signalbox.browse_stream(s.name, s.partition, %s, %s, %s) with ordinality m(
  position, key, payload_text, appended_at, number
)
left join signalbox.stream_body_pointer b on m.payload_text = 'null' and b.stream_id = s.stream_id
  and b.partition = s.partition and b.position = m.position
order by m.number
