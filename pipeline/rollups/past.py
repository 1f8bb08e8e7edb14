"""Numbers of weeks and months for charts, of a queue, a tenant or all queues, from daily rollups."""

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
    """Sums of the counts of some days, None for days without rollups, and the highest daily quantiles."""

    at: datetime
    """Start of the first day, in UTC."""
    counts: dict[str, int] | None
    quantiles_ms: dict[str, int | None]


def stretches(scope: int, start: datetime, end: datetime, days_each: int) -> Sequence[Stretch]:
    """Read the days from `start` to `end` in groups of `days_each` days, from the oldest on, with three queries.

    `scope` is a queue's id, -n for tenant n, 0 for all queues. A day without a row had no events if rollups include it.
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
