-- Messages of streams, for the search of an erasure.
select array[t.stream_id, t.partition, t.position], null::int, t.position, t.payload, t.attributes,
  case when t.payload = 'null' then (
    select b.sha256
    from signalbox.stream_body_pointer b
    where b.stream_id = t.stream_id and b.partition = t.partition and b.position = t.position
  ) end,
  t.appended_at
from signalbox.stream_message t
where t.stream_id = %(after0)s and (t.partition, t.position) > (%(after1)s::bigint, %(after2)s::bigint)
  and t.appended_at <= %(began)s
order by t.partition, t.position
