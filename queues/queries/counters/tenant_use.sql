-- Bytes held, long polls and bytes of streams of each tenant; null where no quota limits them.
select t.tenant_id, case when t.max_backlog_bytes > 0 then signalbox._read_counter(g.bytes_held) end,
  case when t.max_long_polls > 0 then signalbox.long_polls(t.tenant_id) end,
  case when t.max_stream_bytes > 0 then signalbox._stream_bytes_of(t.tenant_id) end
from signalbox.tenant t
left join signalbox.admission_counter g on g.tenant_id = t.tenant_id
where t.max_backlog_bytes > 0 or t.max_long_polls > 0 or t.max_stream_bytes > 0
