"""The last hour of each queue, in buckets of ten seconds, for sparklines and charts. Written by upkeep."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from queues.database.query import fetch, query_text

BUCKET_SECONDS = 10
LEAST_GAP = 3  # buckets; the charts of History use the same number


@dataclass(frozen=True)
class HistoryPoint:
    """One bucket: depths at its end (messages), rates (messages per second), oldest age (seconds).

    In a gap, where nothing was recorded, everything but the time is None.
    """

    at: datetime
    ready: int | None = None
    scheduled: int | None = None
    waiting: int | None = None
    leased: int | None = None
    dead: int | None = None
    oldest_ready_age_seconds: float | None = None
    published_per_second: float | None = None
    delivered_per_second: float | None = None
    acked_per_second: float | None = None
    nacked_per_second: float | None = None
    dead_lettered_per_second: float | None = None
    removed_per_second: float | None = None

    @property
    def is_gap(self) -> bool:
        return self.ready is None


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
    gaps = _gaps(buckets, {at for _, _, at, *_ in rows} | _recorded(oldest))
    return {queue_id: _filled(known, buckets, gaps) for queue_id, known in points_of.items()}


def dead_lettered(points: Sequence[HistoryPoint]) -> int:
    """Count the messages that became dead letters in these buckets."""
    return round(sum((point.dead_lettered_per_second or 0.0) * BUCKET_SECONDS for point in points))


def _recorded(since: datetime) -> set[datetime]:
    """Read the buckets that upkeep recorded. A queue at rest has no row in them."""
    records = "select bucket_at from signalbox.history_record where step_seconds = %s and bucket_at >= %s"
    return {at for (at,) in fetch(records, [BUCKET_SECONDS, since])}


def _gaps(buckets: Sequence[datetime], recorded: set[datetime]) -> set[datetime]:
    """Find the runs of buckets without a record. A busy upkeep may skip a few: a shorter run is no gap."""
    gaps: set[datetime] = set()
    for is_recorded, run in groupby(buckets, recorded.__contains__):
        missing = [] if is_recorded else list(run)
        gaps.update(missing if len(missing) >= LEAST_GAP else [])
    return gaps


_ROWS = query_text("history/last_hour")


def _filled(known: list[HistoryPoint], buckets: Iterable[datetime], gaps: set[datetime]) -> list[HistoryPoint]:
    """Make a point for each bucket from the first known one. A queue at rest repeats its last depths."""
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
        points.append(HistoryPoint(at) if at in gaps else last if fresh else _at_rest(last, at))
    return points


def _at_rest(last: HistoryPoint, at: datetime) -> HistoryPoint:
    age = last.oldest_ready_age_seconds
    return HistoryPoint(at, last.ready, last.scheduled, last.waiting, last.leased, last.dead, age, 0, 0, 0, 0, 0, 0)
