"""Which queues keep their dead letters in which: the one place that reads it, for reach and for masks."""

from __future__ import annotations

from collections import defaultdict
from typing import LiteralString

from dlq.finding import Query
from queues.models import Queue

# A dead-letter queue and a queue of the same tenant whose dead letters it keeps: by the name that the settings have, by
# '<name>-dlq', or with the id behind that name where another tenant had taken it (`queues/sql/_dead_letter_queue.sql`).
_KEPT: LiteralString = """
select h.name, s.name
from signalbox.queue s
cross join lateral (select coalesce(s.dead_letter_queue, s.name || '-dlq') as name) named
join signalbox.queue h on h.name in (named.name, left(named.name, 88) || '-' || s.queue_id)
where h.is_dead_letter_queue and h.tenant_id = s.tenant_id and h.queue_id <> s.queue_id
"""


def sources_of(holder: Queue) -> list[str]:
    """The queues whose dead letters this one keeps, by name; queues of dead letters left out."""
    found = Query(f"{_KEPT} and h.queue_id = %s and not s.is_dead_letter_queue order by s.name", [holder.pk])
    return [source for _, source in found.rows()]


def sources_by_holder() -> dict[str, set[str]]:
    """For each dead-letter queue the queues, also of dead letters, whose dead letters it keeps."""
    found: dict[str, set[str]] = defaultdict(set)
    for holder, source in Query(_KEPT, []).rows():
        found[holder].add(source)
    return found
