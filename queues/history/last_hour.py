"""The last hour of each queue, in buckets of ten seconds, for sparklines and charts. Written by upkeep."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from queues.database.query import fetch, query_text

BUCKET_SECONDS = 10


@dataclass(frozen=True)
class HistoryPoint:
    """One bucket: depths at its end (messages), what happened within it (messages per second), oldest age (seconds)."""

    at: datetime
    ready: int
    scheduled: int
    waiting: int
    leased: int
    dead: int
    oldest_ready_age_seconds: float | None
    published_per_second: float
    delivered_per_second: float
    acked_per_second: float
    nacked_per_second: float
    dead_lettered_per_second: float
    removed_per_second: float


def sparklines(queue_ids: Sequence[int], points: int = 60) -> dict[int, list[HistoryPoint]]:
    """Read the last `points` buckets of each queue, oldest first. One query. An idle queue repeats its last depth."""
    current = datetime.fromtimestamp(int(time.time()) // BUCKET_SECONDS * BUCKET_SECONDS, UTC)
    oldest = current - timedelta(seconds=BUCKET_SECONDS * points)
    rows = fetch(_ROWS, {"queue_ids": list(queue_ids), "since": oldest})
    # The current bucket counts only once it is recorded: until then it would look like a fall to zero.
    recorded = any(bucket_at == current for _, _, bucket_at, *_ in rows)
    newest = current if recorded else current - timedelta(seconds=BUCKET_SECONDS)
    buckets = [newest - timedelta(seconds=BUCKET_SECONDS * back) for back in reversed(range(points))]
    points_of: dict[int, list[HistoryPoint]] = {queue_id: [] for queue_id in queue_ids}
    for queue_id, seconds, at, *values in rows:
        depths, rates = values[:6], [max(count, 0) / max(seconds, 1) for count in values[6:]]
        points_of[queue_id].append(HistoryPoint(at, *depths, *rates))
    return {queue_id: _filled(known, buckets) for queue_id, known in points_of.items()}


_ROWS = query_text("history/last_hour")


def _filled(known: list[HistoryPoint], buckets: Iterable[datetime]) -> list[HistoryPoint]:
    """Make a point for each bucket from the first known one; a gap repeats the depths before it, at rates of 0."""
    points: list[HistoryPoint] = []
    last: HistoryPoint | None = None
    upcoming = iter(sorted(known, key=lambda point: point.at))
    following = next(upcoming, None)
    for at in buckets:
        fresh = False
        while following is not None and following.at <= at:
            last, fresh = following, following.at == at
            following = next(upcoming, None)
        if last is None:
            continue
        points.append(last if fresh else _at_rest(last, at))
    return points


def _at_rest(last: HistoryPoint, at: datetime) -> HistoryPoint:
    age = last.oldest_ready_age_seconds
    return HistoryPoint(at, last.ready, last.scheduled, last.waiting, last.leased, last.dead, age, 0, 0, 0, 0, 0, 0)
