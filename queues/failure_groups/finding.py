"""The search for failure groups by a part of their class or fingerprint. It reads no error text and no message."""

from __future__ import annotations

from collections.abc import Sequence

from queues.database.query import Query


def find_groups(text: str, queue_ids: Sequence[int] | None, limit: int) -> Query:
    """Select the fingerprints of failure groups, the newest first; `queue_ids` of None means every queue."""
    scope = None if queue_ids is None else list(queue_ids)
    return Query(_FIND, [text, text, scope, scope, limit])


_FIND = """
with part as (
  select c.fingerprint, c.error_class, c.last_seen, q.queue_id
  from signalbox.failure_cluster c
  join signalbox.failure_cluster_queue q on q.fingerprint = c.fingerprint
  union all
  select u.fingerprint, u.error_class, u.last_at, u.queue_id from signalbox.pending_failure_groups() u
)
select coalesce(m.head, p.fingerprint)
from part p
left join signalbox.failure_group_member m on m.fingerprint = p.fingerprint
where (strpos(lower(p.error_class), lower(%s)) > 0 or strpos(lower(p.fingerprint), lower(%s)) > 0)
  and (%s::integer[] is null or p.queue_id = any(%s::integer[]))
group by 1
order by max(p.last_seen) desc, 1
limit %s
"""
