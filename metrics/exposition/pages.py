"""Pages of metrics for scrapers, rendered and compressed once for each reading of the fleet.

`/metrics` has what concerns no single queue, `/metrics/queues` has the queues. No series is on both but the exporter's
own.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.conf import settings

from metrics import names
from metrics.exposition.text import Page, samples
from metrics.reading.fleet import Exporter, Fleet
from queues.counters.queue_numbers import QueueNumbers

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format, as every version of Prometheus reads it."""
FAST = 1  # compresses twenty to one already; the next levels cost more than they save


@dataclass(frozen=True)
class Answer:
    """One page in Prometheus' text format."""

    plain: bytes

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.plain, FAST, mtime=0)


@dataclass(frozen=True)
class Pages:
    """The pages of one reading."""

    fleet: Answer
    queues: Answer


def render(fleet: Fleet) -> Pages:
    """Render and compress both pages when the fleet is read, so that no scrape does it."""
    queues, omitted = render_queues(fleet)
    pages = Pages(Answer(render_fleet(fleet, omitted=omitted)), Answer(queues))
    for answer in (pages.fleet, pages.queues):
        _ = answer.gzipped
    return pages


def without_numbers(fleet: Fleet | None) -> Pages:
    """Render pages that report only that the numbers are too old."""
    page = Page()
    page.add(names.STATE_METRICS, Exporter(fleet, False))
    alone = Answer(page.encoded())
    return Pages(alone, alone)


class UnknownNameError(LookupError):
    """The request names a tenant or queue that does not exist."""


def render_only(fleet: Fleet, tenants: Iterable[str], queues: Iterable[str]) -> Answer:
    """Render the queues that have these names and belong to these tenants; an empty list does not restrict."""
    of_tenants = _named(fleet.queues, "tenant", list(tenants), lambda numbers: numbers.tenant)
    named = _named(of_tenants, "queue", list(queues), lambda numbers: numbers.name)
    return Answer(render_queues(fleet, only=named)[0])


def _named(
    all_queues: Sequence[QueueNumbers], what: str, wanted: list[str], name_of: Callable[[QueueNumbers], str]
) -> list[QueueNumbers]:
    known = {name_of(numbers) for numbers in all_queues}
    if (unknown := next((name for name in wanted if name not in known), None)) is not None:
        raise UnknownNameError(f"there is no {what} {unknown!r}")
    return [numbers for numbers in all_queues if not wanted or name_of(numbers) in wanted]


def render_fleet(fleet: Fleet, *, omitted: int = 0) -> bytes:
    """Render totals, tenants, streams, PostgreSQL and the exporter."""
    page = Page()
    whole, tenants = fleet.totals()
    page.add(names.FLEET_TOTALS, whole)
    page.declare(names.TENANT_TOTALS)
    for tenant, its in sorted(tenants.items()):
        page.add(names.TENANT_TOTALS, its, tenant)
    page.add(names.TENANT_REFUSALS, fleet)
    page.add((*names.INSTALLATION_METRICS, *names.POSTGRES_METRICS, *names.STREAM_METRICS), fleet)
    shown = fleet.streams.groups[: settings.METRICS_MAX_SERIES // len(names.GROUP_METRICS)]
    page.declare(names.GROUP_METRICS)
    for group in shown:
        stream = group.group.stream
        page.add(names.GROUP_METRICS, group, stream.tenant.name, stream.name, group.group.name)
    exporter = Exporter(fleet, True, omitted, len(fleet.streams.groups) - len(shown))
    page.add((*names.STATE_METRICS, names.QUEUES_OMITTED, names.GROUPS_OMITTED), exporter)
    return page.encoded()


def render_queues(fleet: Fleet, *, only: Sequence[QueueNumbers] | None = None) -> tuple[bytes, int]:
    """Render the series of all queues or of these; return also how many exceed METRICS_MAX_SERIES and are left out.

    The queues that were made first are kept, so that a new one never takes the series of another away.
    """
    page = Page()
    page.declare(names.QUEUE_METRICS)
    omitted = series = 0
    for numbers in sorted(fleet.queues if only is None else only, key=lambda each: each.queue_id):
        written = samples(names.QUEUE_METRICS, fleet.reading_of(numbers), numbers.tenant, numbers.name)
        count = sum(text.count("\n") for text in written)
        if omitted or series + count > settings.METRICS_MAX_SERIES:
            omitted += 1
            continue
        series += count
        page.add_lines(names.QUEUE_METRICS, written)
    page.add((*names.STATE_METRICS, names.QUEUES_OMITTED), Exporter(fleet, True, omitted))
    return page.encoded(), omitted


def render_process() -> bytes:
    """Render what this process itself has measured, without the database: sends, receives, requests of the API."""
    page = Page()
    page.add((*names.PROCESS_METRICS, *names.API_METRICS), None)
    return page.encoded()
