"""Counters beside a recount: whether they are what the rows say, and putting them right.

Counters are exact by construction, and tests hold them to it. This is for doubt: after a crash of the disk, or a change
made by hand. It scans; the comparison is of one snapshot, so it is exact while everything goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from queues import audit
from queues.control import get_queue
from queues.models import Queue

MOST_AUDITED = 100


@dataclass(frozen=True)
class Count:
    """One number of a queue, or of one of its lanes: by the counters and row by row."""

    queue: str
    lane: str | None
    state: str
    counted: int
    recounted: int

    @property
    def name(self) -> str:
        """The state, of the queue or of a lane."""
        return self.state if self.lane is None else f"{self.state} in lane {self.lane}"

    @property
    def drift(self) -> int:
        """What the counters say too much."""
        return self.counted - self.recounted


def recount(name: str | None = None) -> list[Count]:
    """Every state of this queue, of all when None, and the lanes that drifted. Raises `QueueNotFound`."""
    queues = [get_queue(name)] if name else list(Queue.objects.order_by("name"))
    return [count for queue in queues for count in _read(queue)]


def repair(name: str, *, actor: str, reason: str = "") -> Sequence[Count]:
    """Put the counters of a queue right; returns what had drifted. Audited when anything had."""
    queue = get_queue(name)
    with _one_snapshot() as cursor:
        drifted = [count for count in _counts(cursor, queue) if count.drift]
        if drifted:
            cursor.execute("select signalbox.correct_counters(%s)", [queue.queue_id])
            changes = {
                count.name: {"before": count.counted, "after": count.recounted} for count in drifted[:MOST_AUDITED]
            }
            audit.record(actor, "queue.correct_counters", queue, reason, {"changes": changes})
    return drifted


def _read(queue: Queue) -> list[Count]:
    with _one_snapshot() as cursor:
        return _counts(cursor, queue)


@contextmanager
def _one_snapshot() -> Iterator[CursorWrapper]:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read")
        yield cursor


def _counts(cursor: CursorWrapper, queue: Queue) -> list[Count]:
    cursor.execute("select lane, state, counted, recounted from signalbox.counter_drift(%s)", [queue.queue_id])
    return [Count(queue.name, *row) for row in cursor.fetchall()]
