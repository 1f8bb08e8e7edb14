-- How often the quotas of each tenant refused something other than a send, by reason.
select t.name, r.reason, signalbox._read_counter(r.counter)
from signalbox.tenant_refusal r
join signalbox.tenant t using (tenant_id)
order by 1, 2
