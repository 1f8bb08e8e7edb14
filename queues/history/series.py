"""The last two weeks of queues, tenants and all queues together, for charts: read from what upkeep has recorded.

Three steps are kept (`queues/sql/history/_history_steps.sql`): ten seconds for an hour, minutes for a day, ten minutes
for two weeks. A request is read from the coarsest step that is fine enough. An idle queue has no rows and keeps its
last depths. A time without records has no depths, and its rates are the mean over that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from queues.database.query import named_rows, query_text
from queues.errors import InvalidArgument

MAX_POINTS = 360
STATES = ("ready", "scheduled", "waiting", "leased", "dead")
EVENTS = (
    "added",
    "removed",
    "published",
    "delivered",
    "redelivered",
    "acked",
    "nacked",
    "lease_expired",
    "dead_lettered",
    "deduplicated",
    "redriven",
    "refused",
)
ALL_QUEUES = 0
"""The queue id that stands for all queues together."""

KEPT_SECONDS = {10: 3_600, 60: 86_400, 600: 14 * 86_400}
"""Step in seconds -> seconds for which history keeps it."""

# Their cost is the number of steps that are read, never of messages.
ROWS, BEFORE, RECORDS = (query_text(f"history/{name}") for name in ("rows", "before", "records"))

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_PASSED_BY = 3  # buckets that a busy upkeep may skip before they count as a gap


@dataclass(frozen=True)
class HistoryStep:
    """One step of time: depths in messages, the age in seconds, rates in messages per second."""

    at: datetime
    """The beginning of the step."""
    depths: dict[str, int] | None
    """By state, at its end; None where nothing was recorded."""
    highest: dict[str, int] | None
    oldest_age_seconds: float | None
    """The highest age within the step; 0 when no message was visible, None when nothing was recorded."""
    rates: dict[str, float] | None
    """By event; in a gap the mean over the gap, None when nothing is known."""
    waits: Sequence[int] = ()
    """First deliveries by how long they had waited (`durations.BOUNDS`); empty when there were none."""
    work: Sequence[int] = ()
    """Acknowledgements by how long the work took."""


def of_tenant(tenant_id: int) -> int:
    """Return the queue id that stands for all queues of a tenant, without dead-letter queues."""
    return -tenant_id


def series(queue_ids: Sequence[int], start: datetime, end: datetime, step_seconds: int) -> dict[int, list[HistoryStep]]:
    """Read each queue's steps from `start` to `end`, oldest first; three queries, at most MAX_POINTS steps.

    Steps begin at multiples of `step_seconds`, a multiple of ten. Raises InvalidArgument when they are too many.
    """
    if step_seconds < 10 or step_seconds % 10:
        raise InvalidArgument(f"is {step_seconds}: it must be a multiple of ten", "step_seconds")
    kept, step = max(kept for kept in KEPT_SECONDS if step_seconds % kept == 0), timedelta(seconds=step_seconds)
    first = start - (start - EPOCH) % step
    count = max(-(-int((end - first).total_seconds()) // step_seconds), 0)
    if count > MAX_POINTS:
        raise InvalidArgument(f"would be {count} steps: at most {MAX_POINTS} are drawn", "step_seconds")
    times = [first + step * number for number in range(count)]
    window = {"ids": list(queue_ids), "start": first, "end": first + step * count, "step": step_seconds, "kept": kept}
    rows: dict[int, dict[datetime, dict[str, Any]]] = {queue_id: {} for queue_id in queue_ids}
    for row in named_rows(ROWS, window):
        rows[row["queue_id"]][row["at"]] = row
    before = {row["queue_id"]: row for row in named_rows(BEFORE, window)}
    covered = _covered(named_rows(RECORDS, window), times, step, kept)
    return {queue_id: _steps(times, step, rows[queue_id], before.get(queue_id), covered) for queue_id in queue_ids}


def coarseness(start: datetime, now: datetime) -> int:
    """Return the finest step, in seconds, that history still keeps at `start`."""
    age = (now - start).total_seconds()
    return next((step for step, kept in KEPT_SECONDS.items() if age <= kept + step), 600)


@dataclass(frozen=True)
class _Cover:
    """The record of one step: the seconds over which its events were counted; 0 within a gap."""

    seconds: int
    counts_of: datetime
    """The step with the rates of this one: the step itself, or the first one after the gap."""


def _covered(
    records: Sequence[dict[str, Any]], times: Sequence[datetime], step: timedelta, kept: int
) -> dict[datetime, _Cover]:
    """Find which of `times` were recorded, and which lie in a gap that a later record covers."""
    covered = {record["at"]: _Cover(record["seconds"], record["at"]) for record in records}
    for record in records:
        passed_by = record["reach"] <= _PASSED_BY * kept
        since = record["earliest"] - timedelta(seconds=record["reach"] - kept)
        at = record["at"] - step
        while times and at >= times[0] and at > since - step and at not in covered:
            covered[at] = _Cover(record["seconds"] if passed_by else 0, record["at"])
            at -= step
    return covered


def _steps(
    times: Sequence[datetime],
    step: timedelta,
    rows: dict[datetime, dict[str, Any]],
    before: dict[str, Any] | None,
    covered: dict[datetime, _Cover],
) -> list[HistoryStep]:
    steps, last = [], before
    for at in times:
        cover, row = covered.get(at), rows.get(at)
        if cover is None:
            steps.append(HistoryStep(at, None, None, None, None))
            continue
        rates = _rates(rows.get(cover.counts_of), covered[cover.counts_of].seconds if cover.counts_of in covered else 0)
        last = row or last
        if not cover.seconds or last is None:
            steps.append(HistoryStep(at, None, None, None, rates))
        elif row:
            steps.append(_recorded(at, row, rates))
        else:
            steps.append(_at_rest(at, step, last, rates))
    return steps


def _recorded(at: datetime, row: dict[str, Any], rates: dict[str, float]) -> HistoryStep:
    return HistoryStep(
        at,
        {state: row[state] for state in STATES},
        {state: row[f"{state}_highest"] for state in STATES},
        row["oldest_ready_age_seconds"] or 0.0,
        rates,
        row["waits"] or (),
        row["work"] or (),
    )


def _at_rest(at: datetime, step: timedelta, last: dict[str, Any], rates: dict[str, float]) -> HistoryStep:
    depths = {state: last[state] for state in STATES}
    oldest = last["oldest_visible_at"]
    age = max((at + step - oldest).total_seconds(), 0.0) if oldest else 0.0
    return HistoryStep(at, depths, depths, age, rates)


def _rates(row: dict[str, Any] | None, seconds: int) -> dict[str, float]:
    if row is None or not seconds:
        return dict.fromkeys(EVENTS, 0.0)
    return {event: max(float(row[event]), 0.0) / seconds for event in EVENTS}
