"""Statements that find a queue by a name, for programs with connections of their own, such as the HTTP API."""

from __future__ import annotations

#: %(name)s → the queue, its tenant, the queues whose dead letters it keeps, and its name now.
QUEUE_BY_NAME = """
select q.queue_id, t.name, case when q.is_dead_letter_queue then array(
    select s.name
    from signalbox.source_queues(q.queue_id) source(queue_id)
    join signalbox.queue s on s.queue_id = source.queue_id
  ) else '{}' end, q.name
from signalbox.queue q
join signalbox.tenant t using (tenant_id)
where q.queue_id = coalesce(
  (select n.queue_id from signalbox.queue n where n.name = %(name)s),
  (select a.queue_id from signalbox.queue_alias a where a.name = %(name)s and a.works_until > clock_timestamp())
)
"""

#: %(name)s, a name that a queue had → the tenant, the queue's name now, and when it was renamed.
QUEUE_OF_OLD_NAME = """
select t.name, q.name, a.renamed_at at time zone 'UTC'
from signalbox.queue_alias a
join signalbox.queue q on q.queue_id = a.queue_id
join signalbox.tenant t using (tenant_id)
where a.name = %(name)s
"""

#: The beginning of a name → the dead-letter queues that such queues had before.
FORMER_DEAD_LETTER_QUEUES = """
select f.queue_id
from signalbox.former_dead_letter_queue f
join signalbox.queue s on s.queue_id = f.source_queue_id
where starts_with(s.name, %s)
"""

#: A queue's name → its tenant, and whether the tenant's long polls are limited.
LONG_POLL_LIMIT = """
select t.tenant_id, t.max_long_polls > 0
from signalbox.queue q
join signalbox.tenant t using (tenant_id)
where q.name = %s
"""
