"""Read the evidence about queues with a fixed number of queries, each of which reads a few rows a queue.

Events are differences of counters that history keeps, so the cost does not depend on the number of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.diagnosis.evidence import DeadRows, Evidence, Failures, Flow, Lanes, PriorityWait, Work
from metrics.reading.xmin_holders import Holder, read_holders
from queues.control.subscriptions import Feed, feeds_by_target
from queues.counters.queue_numbers import QueueNumbers, named_totals
from queues.database.query import fetch, query_text

_NAMES = ("moments", "presence", "failures", "work", "lanes", "priorities", "dead_rows")
_MOMENTS, _PRESENCE, _FAILURES, _WORK, _LANES, _PRIORITIES, _DEAD_ROWS = (
    query_text(f"diagnosis/{name}") for name in _NAMES
)

QUERIES = 9
"""Number of queries, whatever the number of queues; one less for holders and feeds that the caller passes."""

MINUTE, TEN_MINUTES, HOUR = 60, 600, 3600


def read_evidence(
    numbers: Sequence[QueueNumbers],
    holders: Sequence[Holder] | None = None,
    feeds: Mapping[int, tuple[Feed, ...]] | None = None,
) -> dict[int, Evidence]:
    """Read the evidence about each of these queues, by queue id. QUERIES queries; none without a queue."""
    queue_ids = [queue.queue_id for queue in numbers]
    if not queue_ids:
        return {}
    old = [holder for holder in (read_holders() if holders is None else holders) if holder.is_old]
    known_feeds = feeds_by_target(queue_ids) if feeds is None else feeds
    dead_rows = next((DeadRows(*row) for row in _rows("dead_rows", [])), None)
    common = {"holder": next(iter(old), None), "dead_rows": dead_rows}
    parts: list[dict[int, dict[str, Any]]] = [
        _moments(queue_ids),
        {row[0]: dict(zip(_PRESENT, row[1:], strict=True)) for row in _rows("presence", queue_ids)},
        {row[0]: {"failures": Failures(*row[1:])} for row in _rows("failures", queue_ids)},
        {row[0]: {"work": Work(*row[1:])} for row in _rows("work", queue_ids)},
        {queue_id: {"feeds": known} for queue_id, known in known_feeds.items()},
        {row[0]: {"lanes": Lanes(*row[1:])} for row in _rows("lanes", queue_ids)},
        {row[0]: {"priorities": tuple(map(PriorityWait, *row[1:]))} for row in _rows("priorities", queue_ids)},
    ]
    return {
        queue.queue_id: _evidence(queue, common, *(part.get(queue.queue_id, {}) for part in parts)) for queue in numbers
    }


_PRESENT = ("consumers_gone", "last_consumer_seconds", "paused_seconds", "may_be_in_flight", "due_seconds")


def _rows(name: str, queue_ids: list[int]) -> list[tuple[Any, ...]]:
    return fetch(query_text(f"diagnosis/{name}"), {"queue_ids": queue_ids})


# How many seconds ago, the age of the oldest then, and the counters then.
_Moment = tuple[float, float, dict[str, int]]


def _moments(queue_ids: list[int]) -> dict[int, dict[str, Any]]:
    by_queue: dict[int, dict[str, Any]] = {}
    for queue_id, asked, age, oldest, totals in _rows("moments", queue_ids):
        moments = by_queue.setdefault(queue_id, {"moments": {}})["moments"]
        moments[asked] = (float(age), float(oldest), named_totals(totals))
    return by_queue


def _evidence(numbers: QueueNumbers, *parts: dict[str, Any]) -> Evidence:
    known = {name: value for part in parts for name, value in part.items()}
    moments: dict[int, _Moment] = known.pop("moments", {})
    depths = {"ready": numbers.ready, "waiting": numbers.waiting}
    totals = {**numbers.totals, **depths, "added": numbers.added_total, "removed": numbers.removed_total}
    now = (0.0, numbers.oldest_ready_age_seconds or 0.0, totals)
    return Evidence(
        numbers=numbers,
        minute=_flow(moments.get(MINUTE), now),
        ten_minutes=_flow(moments.get(TEN_MINUTES), now),
        before=_flow(moments.get(HOUR), moments.get(TEN_MINUTES)),
        **known,
    )


def _flow(earlier: _Moment | None, later: _Moment | None) -> Flow | None:
    """Compute the flow between two moments; None when history has no time between them."""
    if earlier is None or later is None or earlier[0] - later[0] < 1.0:
        return None
    then, now = earlier[2], later[2]

    def grew(*names: str) -> int:
        return sum(now[name] - then[name] for name in names)

    return Flow(
        seconds=earlier[0] - later[0],
        **{name: max(grew(name), 0) for name in ("added", "removed", "delivered", "acked")},
        failed=max(grew("nacked", "lease_expired"), 0),
        died=max(grew("dead_lettered"), 0),
        deferred=max(grew("deferred"), 0),
        growth=grew("ready", "waiting"),
        aged_seconds=later[1] - earlier[1],
    )
