-- The oldest rows of the audit, and whether each is older than a time. The last row of all is left out.
select e.position, e.hash, e.at < %(before)s, e.at, to_jsonb(e)::text
from signalbox.audit_event e
where e.position < (select h.position from signalbox.audit_head h)
order by e.position
limit %(limit)s
