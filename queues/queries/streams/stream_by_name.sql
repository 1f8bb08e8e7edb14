-- A stream by its name: its id and its tenant.
select s.stream_id, t.name
from signalbox.stream s
join signalbox.tenant t using (tenant_id)
where s.name = %(name)s
