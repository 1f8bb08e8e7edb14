"""Compare the counters of queues with their rows, and correct the counters.

Counters are exact by construction, and tests prove it. Use a recount after a failure of the disk, or after rows were
changed by hand. It scans the rows of one snapshot, so it is exact under traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper

from queues import audit
from queues.control.queues import get_queue
from queues.database.query import fetch
from queues.models import Queue

MAX_AUDITED = 100
# A repair commits only when no other action was audited since its snapshot; the last try makes others wait.
REPAIR_TRIES = 5


@dataclass(frozen=True)
class Count:
    """One number of a queue or of one of its message groups: as counted, and as recounted from the rows."""

    queue: str
    lane: str | None
    state: str
    counted: int
    recounted: int

    @property
    def name(self) -> str:
        """The state, and the message group if it is a number of one."""
        return self.state if self.lane is None else f"{self.state} of group {self.lane}"

    @property
    def drift(self) -> int:
        """The difference by which the counter is too high."""
        return self.counted - self.recounted


def recount(name: str | None = None) -> list[Count]:
    """Recount every state of a queue (None: of all queues), and groups that drifted. Raises `QueueNotFound`."""
    queues = [get_queue(name)] if name else list(Queue.objects.order_by("name"))
    counts: list[Count] = []
    for queue in queues:
        with _one_snapshot():
            counts += _counts(queue)
    return counts


def repair(name: str, *, actor: str, reason: str = "") -> Sequence[Count]:
    """Correct the counters of a queue; return those that had drifted, which the audit records."""
    queue = get_queue(name)
    for _ in range(REPAIR_TRIES - 1):
        with suppress(_Overtaken):
            return _repair(queue, actor, reason)
    return _repair(queue, actor, reason, alone=True)


class _Overtaken(Exception):  # noqa: N818 - losing a race is no error
    """An audited action of another transaction came between this transaction's snapshot and its commit."""


def _repair(queue: Queue, actor: str, reason: str, *, alone: bool = False) -> Sequence[Count]:
    try:
        with _one_snapshot() as cursor:
            if alone:
                cursor.execute("lock table signalbox.audit_head in exclusive mode")  # before there is a snapshot
            drifted = [count for count in _counts(queue) if count.drift]
            if drifted:
                cursor.execute("select signalbox.correct_counters(%s)", [queue.queue_id])
                both = {
                    count.name: {"before": count.counted, "after": count.recounted} for count in drifted[:MAX_AUDITED]
                }
                audit.record(actor, "queue.correct_counters", queue, reason, {"changes": both})
        return drifted
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.SerializationFailure):
            raise _Overtaken from error
        raise


@contextmanager
def _one_snapshot() -> Iterator[CursorWrapper]:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("set transaction isolation level repeatable read")
        yield cursor


def _counts(queue: Queue) -> list[Count]:
    rows = fetch("select lane, state, counted, recounted from signalbox.counter_drift(%s)", [queue.queue_id])
    return [Count(queue.name, *row) for row in rows]
