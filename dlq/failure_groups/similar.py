"""Failure groups that may share the cause of a given group: the same error class, or the same queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlq.failure_groups.listing import Narrowing, list_groups
from dlq.failure_groups.reading import FailureGroup
from queues.database.names import reached_ids
from queues.models import Queue
from queues.reach import EVERYTHING, Reach

MAX_SIMILAR = 10
"""Limit of groups in each list."""


@dataclass(frozen=True)
class Similar:
    """Groups that are similar to a given group, the worst first. No group is in both lists."""

    same_class: Sequence[FailureGroup]
    same_queue: Sequence[FailureGroup]


def similar_groups(group: FailureGroup, reach: Reach = EVERYTHING) -> Similar:
    """Find the groups of the same class, and others of the same queues, among those with dead letters now."""
    reached = reached_ids(reach)
    of_class = _worst(Narrowing(reached, (group.error_class,), reached=reached)) if group.error_class else []
    names = [source.queue for source in group.sources if source.queue]
    queue_ids = tuple(Queue.objects.filter(name__in=names).values_list("pk", flat=True))
    of_queue = _worst(Narrowing(queue_ids, reached=reached)) if queue_ids else []
    first = _others(group, of_class)
    taken = {one.fingerprint for one in first}
    return Similar(first, [one for one in _others(group, of_queue) if one.fingerprint not in taken])


def _worst(narrowing: Narrowing) -> Sequence[FailureGroup]:
    page = list_groups(narrowing, size=MAX_SIMILAR + 1)
    return page.rows if page else []


def _others(group: FailureGroup, found: Sequence[FailureGroup]) -> list[FailureGroup]:
    return [one for one in found if one.fingerprint != group.fingerprint][:MAX_SIMILAR]
