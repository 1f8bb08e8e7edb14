-- One row for each message of a range of positions of one partition of a stream, in their order.
select
  s.stream_id,
  s.name as stream,
  s.tenant_id,
  t.name as tenant,
  m.partition,
  m.position,
  m.key,
  m.payload::text as payload,
  m.attributes::text as attributes,
  m.trace_id,
  m.appended_at,
  case when m.payload = 'null' then b.sha256 end as body_sha256,
  case when m.payload = 'null' then b.bytes end as body_bytes
from signalbox.stream_message m
cross join (
  select s.stream_id, s.name, s.tenant_id
  from signalbox.stream s
  where s.stream_id = current_setting('pipeline.stream_id')::integer
) s
left join signalbox.stream_body_pointer b on b.stream_id = m.stream_id and b.partition = m.partition
  and b.position = m.position
join signalbox.tenant t on t.tenant_id = s.tenant_id
where m.stream_id = current_setting('pipeline.stream_id')::integer
  and m.partition = current_setting('pipeline.partition')::smallint
  and m.position between current_setting('pipeline.low')::bigint and current_setting('pipeline.high')::bigint
order by m.position
