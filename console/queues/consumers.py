"""Consumers as a table: where each runs, since when, its work now, and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest

from console.web.pagination import sort_links
from queues.counters.consumers import Work, read_work
from queues.models import Consumer

MAX_CONSUMERS = 500
PRESENT = timedelta(seconds=60)
FORGOTTEN = timedelta(days=1)
# Keys of the metadata that have columns of their own, or that say nothing once the consumer is gone.
SHOWN_KEYS = ("host", "version", "started_at")
KEYS_OF_THE_PRESENT = ("running",)
MAX_TEXT = 100


@dataclass(frozen=True)
class Row:
    """One consumer as the table shows it."""

    consumer: Consumer
    work: Work
    now: datetime

    @property
    def is_present(self) -> bool:
        """Return whether the consumer was seen within the last minute."""
        return self.now - self.consumer.last_seen_at < PRESENT

    @property
    def details(self) -> Mapping[str, Any]:
        return self.consumer.details if isinstance(self.consumer.details, dict) else {}

    @property
    def host(self) -> str:
        return self._text("host")

    @property
    def version(self) -> str:
        return self._text("version")

    @property
    def started_at(self) -> datetime | None:
        """The time at which the consumer's process started; None if the metadata has no time with a time zone."""
        try:
            moment = datetime.fromisoformat(self._text("started_at"))
        except ValueError:
            return None
        return moment if moment.tzinfo else None

    @property
    def metadata(self) -> list[tuple[str, Any]]:
        """The metadata that the columns do not show. For a consumer that is gone, the current work is left out too."""
        hidden = SHOWN_KEYS if self.is_present else (*SHOWN_KEYS, *KEYS_OF_THE_PRESENT)
        if self.started_at is None:
            hidden = tuple(key for key in hidden if key != "started_at")
        return [(key, value) for key, value in self.details.items() if key not in hidden]

    def _text(self, key: str) -> str:
        value = self.details.get(key, "")
        return str(value)[:MAX_TEXT] if isinstance(value, str | int | float) else ""


_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
# Column -> its value. A minus before the name sorts the highest first.
COLUMNS: dict[str, Callable[[Row], Any]] = {
    "consumer": lambda row: row.consumer.consumer,
    "queue": lambda row: row.consumer.queue.name,
    "host": lambda row: row.host,
    "since": lambda row: row.started_at or _LONG_AGO,
    "work": lambda row: row.work.in_flight,
    "rate": lambda row: row.work.per_second,
    "version": lambda row: row.version,
    "seen": lambda row: row.consumer.last_seen_at,
}
FIRST_ORDERS = {name: f"-{name}" if name in ("since", "work", "rate", "seen") else name for name in COLUMNS}


def read(request: HttpRequest, among: Q) -> dict[str, object]:
    """Read the consumers seen within a day for a template: those that receive now first. Three queries."""
    now = datetime.now(UTC)
    seen = Consumer.objects.select_related("queue").filter(among, last_seen_at__gte=now - FORGOTTEN)
    found = list(seen.order_by("-last_seen_at")[:MAX_CONSUMERS])
    work = read_work(sorted({one.queue_id for one in found})) if found else {}
    rows = [Row(one, work.get((one.queue_id, one.consumer), Work()), now) for one in found]
    sort = request.GET.get("sort", "")
    return {
        "consumers": ordered(rows, sort),
        "present": sum(row.is_present for row in rows),
        "full": len(found) == MAX_CONSUMERS,
        "sort": sort_links(request, sort, FIRST_ORDERS),
    }


def ordered(rows: Sequence[Row], sort: str) -> list[Row]:
    """Sort by this column, else by queue and name; consumers that are gone always come last."""
    by_name = sorted(rows, key=lambda row: (row.consumer.queue.name, row.consumer.consumer))
    if value := COLUMNS.get(sort.removeprefix("-")):
        by_name.sort(key=value, reverse=sort.startswith("-"))
    return sorted(by_name, key=lambda row: not row.is_present)
