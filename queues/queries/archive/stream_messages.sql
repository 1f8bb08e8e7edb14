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
  m.appended_at
from signalbox.stream_message m
cross join (
  select s.stream_id, s.name, s.tenant_id
  from signalbox.stream s
  where s.stream_id = current_setting('pipeline.stream_id')::integer
) s
join signalbox.tenant t on t.tenant_id = s.tenant_id
where m.stream_id = current_setting('pipeline.stream_id')::integer
  and m.partition = current_setting('pipeline.partition')::smallint
  and m.position between current_setting('pipeline.low')::bigint and current_setting('pipeline.high')::bigint
order by m.position
