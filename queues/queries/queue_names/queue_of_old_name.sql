-- The queue that once had a name: its tenant, its present name, and when it was renamed.
select t.name, q.name, a.renamed_at at time zone 'UTC'
from signalbox.queue_alias a
join signalbox.queue q on q.queue_id = a.queue_id
join signalbox.tenant t using (tenant_id)
where a.name = %(name)s
