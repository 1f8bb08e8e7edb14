"""Weeks and months of a queue, of a tenant and of all queues together, for charts: the days that rollups have made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.db.models import Max, Min, Sum
from django.db.models.functions import TruncDay

from pipeline.models import Rollup, Sent
from pipeline.rollups.aggregation import COUNTS, DAY

ALL_QUEUES = 0
QUANTILES_MS = tuple(f"{what}_p{share}_ms" for what in ("wait", "work") for share in (50, 95, 99))


@dataclass(frozen=True)
class Stretch:
    """Some days: what happened in all of them, None where the archive knows nothing; the highest daily quantiles."""

    at: datetime
    """The beginning of the first, in UTC."""
    counts: dict[str, int] | None
    quantiles_ms: dict[str, int | None]


def stretches(scope: int, start: datetime, end: datetime, days_each: int) -> Sequence[Stretch]:
    """Read from the day of `start` to that of `end`, the oldest first. Three queries; rows in proportion to days.

    `scope` is a queue's id, -n for tenant n, 0 for all queues. Days without a row are quiet where rollups were made.
    """
    first, last = _day(start), _day(end)
    days = {
        row.bucket_at: row for row in Rollup.objects.filter(scope=scope, seconds=DAY, bucket_at__range=(first, last))
    }
    sent = dict(
        Sent.objects.filter(scope=scope, bucket_at__gte=first, bucket_at__lt=last + timedelta(days=1))
        .values_list(TruncDay("bucket_at", tzinfo=UTC))
        .annotate(total=Sum("messages"))
        .order_by()
    )
    known = Rollup.objects.filter(scope=ALL_QUEUES, seconds=DAY).aggregate(
        since=Min("bucket_at"), until=Max("bucket_at")
    )
    found = []
    while first <= last:
        each = [first + timedelta(days=n) for n in range(days_each)]
        within = [day for day in each if known["since"] and known["since"] <= day <= known["until"]]
        found.append(_stretch(first, [days[day] for day in within if day in days], within, sent))
        first += timedelta(days=days_each)
    return found


def _stretch(at: datetime, rows: Sequence[Rollup], within: Sequence[datetime], sent: dict[datetime, int]) -> Stretch:
    if not within:
        return Stretch(at, None, dict.fromkeys(QUANTILES_MS))
    counts = {name: sum(getattr(row, name) for row in rows) for name in COUNTS}
    counts["sent"] = sum(sent.get(day, 0) for day in within)
    highest = {
        name: max((value for row in rows if (value := getattr(row, name)) is not None), default=None)
        for name in QUANTILES_MS
    }
    return Stretch(at, counts, highest)


def _day(when: datetime) -> datetime:
    return datetime.combine(when.astimezone(UTC).date(), time.min, UTC)
