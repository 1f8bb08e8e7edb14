"""Gathers the evidence: as many queries for one queue as for fifty, each looking at no more than a few rows of each.

What happened is a difference of counters that history keeps, so it costs the same whatever the number of messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import connection

from metrics.diagnosis.evidence import Evidence, Failures, Flow
from queues.counters import QueueNumbers, named_totals

_SQL = Path(__file__).parent / "sql"
_MOMENTS, _PRESENCE, _FAILURES = ((_SQL / f"{name}.sql").read_text() for name in ("moments", "presence", "failures"))

QUERIES = 3
"""So many, for one queue and for fifty; none when nothing waits anywhere."""

MINUTE, TEN_MINUTES, HOUR = 60, 600, 3600


def read_evidence(numbers: Sequence[QueueNumbers]) -> dict[int, Evidence]:
    """The evidence for each of these queues, by queue id. A fixed number of queries; none where there is no queue."""
    queue_ids = [one.queue_id for one in numbers]
    if not queue_ids:
        return {}
    moments = _moments(queue_ids)
    presence = {row[0]: row[1:] for row in _rows(_PRESENCE, queue_ids)}
    failures = {row[0]: Failures(*row[1:]) for row in _rows(_FAILURES, queue_ids)}
    return {
        one.queue_id: _evidence(
            one, moments.get(one.queue_id, {}), presence.get(one.queue_id, (0, None, None)), failures.get(one.queue_id)
        )
        for one in numbers
    }


def _rows(statement: str, queue_ids: list[int]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"queue_ids": queue_ids})
        return list(cursor.fetchall())


# How many seconds ago, the age of the oldest then, and the counters then.
_Moment = tuple[float, float, dict[str, int]]


def _moments(queue_ids: list[int]) -> dict[int, dict[int, _Moment]]:
    found: dict[int, dict[int, _Moment]] = {}
    for queue_id, asked, age, oldest, totals in _rows(_MOMENTS, queue_ids):
        found.setdefault(queue_id, {})[asked] = (float(age), float(oldest), named_totals(totals))
    return found


def _evidence(
    numbers: QueueNumbers,
    moments: dict[int, _Moment],
    presence: tuple[int, float | None, float | None],
    failures: Failures | None,
) -> Evidence:
    consumers_gone, last_consumer, paused = presence
    depths = {"ready": numbers.ready, "waiting": numbers.waiting}
    totals = {**numbers.totals, **depths, "added": numbers.added_total, "removed": numbers.removed_total}
    now = (0.0, numbers.oldest_ready_age_seconds or 0.0, totals)
    return Evidence(
        numbers=numbers,
        minute=_flow(moments.get(MINUTE), now),
        ten_minutes=_flow(moments.get(TEN_MINUTES), now),
        before=_flow(moments.get(HOUR), moments.get(TEN_MINUTES)),
        consumers_gone=consumers_gone,
        last_consumer_seconds=last_consumer,
        failures=failures or Failures(),
        paused_seconds=paused,
    )


def _flow(earlier: _Moment | None, later: _Moment | None) -> Flow | None:
    """What happened between two moments; None when history knows of no time between them."""
    if earlier is None or later is None or earlier[0] - later[0] < 1.0:
        return None
    then, now = earlier[2], later[2]

    def grew(*names: str) -> int:
        return sum(now[name] - then[name] for name in names)

    return Flow(
        seconds=earlier[0] - later[0],
        added=max(grew("added"), 0),
        removed=max(grew("removed"), 0),
        delivered=max(grew("delivered"), 0),
        redelivered=max(grew("redelivered"), 0),
        acked=max(grew("acked"), 0),
        failed=max(grew("nacked", "lease_expired"), 0),
        died=max(grew("dead_lettered"), 0),
        growth=grew("ready", "waiting"),
        aged_seconds=later[1] - earlier[1],
    )
