"""Which queue keeps, or kept, the dead letters of which queues, according to the engine; for reach and for masks."""

from __future__ import annotations

from collections import defaultdict
from typing import LiteralString

from dlq.finding import Query
from queues.models import Queue

GONE = ""
"""Stands for a queue that was deleted."""

_OF_ONE: LiteralString = """
select s.name
from signalbox.source_queues(%s) one(queue_id)
join signalbox.queue s on s.queue_id = one.queue_id
where not s.is_dead_letter_queue
order by s.name
"""

_OF_ALL: LiteralString = """
select h.name, coalesce(s.name, '')
from signalbox.queue h
cross join lateral signalbox.source_queues(h.queue_id) one(queue_id)
left join signalbox.queue s on s.queue_id = one.queue_id
"""


def sources_of(holder: Queue) -> list[str]:
    """The names of the queues whose dead letters this one keeps, or kept, without dead-letter queues."""
    return [row[0] for row in Query(_OF_ONE, [holder.pk]).rows()]


def sources_by_holder() -> dict[str, set[str]]:
    """For each queue the names of the queues whose dead letters it keeps or kept; `GONE` for a deleted one."""
    found: dict[str, set[str]] = defaultdict(set)
    for holder, source in Query(_OF_ALL, []).rows():
        found[holder].add(source)
    return found
