-- The next part of a walk over messages of streams: a number, behind the last one.
select s.stream_id
from signalbox.stream s
join signalbox.tenant o using (tenant_id)
where s.stream_id >= %(part)s and not %(names_queues)s and %(tenant)s in ('', o.name)
order by 1
limit 1
