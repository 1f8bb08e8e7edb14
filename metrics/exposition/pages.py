"""Pages of metrics for scrapers, rendered and compressed once for each reading of the fleet.

`/metrics` has what concerns no single queue, `/metrics/queues` the numbers of queues, `/metrics/settings` their
settings. Only the exporter's own series are on several pages. Scrapers that accept OpenMetrics get it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.conf import settings

from metrics import names
from metrics.exposition.text import LEAN, PLAIN, TRACED, Page, as_openmetrics, samples
from metrics.reading.fleet import Exporter, Fleet
from queues.counters.queue_numbers import QueueNumbers

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus' text format, as every version of Prometheus reads it."""
OPENMETRICS = "application/openmetrics-text"
OPENMETRICS_TYPE = f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
FAST = 1  # this level compresses twenty to one; higher levels cost more than they save


@dataclass(frozen=True)
class Answer:
    """One page, in Prometheus' text format unless it says otherwise."""

    plain: bytes
    content_type: str = CONTENT_TYPE

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.plain, FAST, mtime=0)

    @cached_property
    def openmetrics(self) -> Answer:
        """The page as OpenMetrics with the same samples, made when a scraper first asks for it."""
        return Answer(as_openmetrics(self.plain), OPENMETRICS_TYPE)


@dataclass(frozen=True)
class Pages:
    """The pages of one reading."""

    fleet: Answer
    queues: Answer
    settings: Answer


def render(fleet: Fleet) -> Pages:
    """Render and compress all pages when the fleet is read, so that no scrape does it."""
    queues, omitted = render_queues(fleet)
    pages = Pages(Answer(render_fleet(fleet, omitted=omitted)), Answer(queues), Answer(render_settings(fleet)))
    for answer in (pages.queues, pages.settings):
        _ = answer.gzipped, answer.openmetrics.gzipped
    return pages


def without_numbers(fleet: Fleet | None) -> Pages:
    """Render pages that report only that the numbers are too old."""
    page = Page()
    page.add(names.STATE_METRICS, Exporter(fleet, False))
    alone = Answer(page.encoded())
    return Pages(alone, alone, alone)


class UnknownNameError(LookupError):
    """The request names a tenant or queue that does not exist."""


def render_only(fleet: Fleet, tenants: Iterable[str], queues: Iterable[str]) -> Answer:
    """Render the queues of these names and tenants in detail. An empty list means all."""
    of_tenants = _named(fleet.queues, "tenant", list(tenants), lambda numbers: numbers.tenant)
    named = _named(of_tenants, "queue", list(queues), lambda numbers: numbers.name)
    return Answer(render_queues(fleet, only=named, detailed=len(named))[0])


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
    page.add((*names.INSTALLATION_METRICS, *names.POSTGRES_METRICS, *names.CELL_METRICS, *names.STREAM_METRICS), fleet)
    shown = fleet.streams.groups[: settings.METRICS_MAX_SERIES // len(names.GROUP_METRICS)]
    page.declare(names.GROUP_METRICS)
    for group in shown:
        stream = group.group.stream
        page.add(names.GROUP_METRICS, group, stream.tenant.name, stream.name, group.group.name)
    exporter = Exporter(fleet, True, omitted, len(fleet.streams.groups) - len(shown))
    page.add((*names.STATE_METRICS, names.QUEUES_OMITTED, names.GROUPS_OMITTED), exporter)
    return page.encoded()


def render_queues(
    fleet: Fleet, *, only: Sequence[QueueNumbers] | None = None, detailed: int | None = None
) -> tuple[bytes, int]:
    """Render the series of all queues or of these; return also how many exceed METRICS_MAX_SERIES and are left out.

    The queues that were made first are kept, so that a new one never takes the series of another away. For the same
    reason the first METRICS_DETAILED_QUEUES, or `detailed`, have every bucket.
    """
    page = Page()
    page.declare(names.QUEUE_METRICS)
    omitted = series = 0
    in_detail = settings.METRICS_DETAILED_QUEUES if detailed is None else detailed
    for place, numbers in enumerate(_oldest_first(fleet.queues if only is None else only)):
        style = PLAIN if place < in_detail else LEAN
        reading = fleet.reading_of(numbers)
        written = samples(names.QUEUE_METRICS, reading, numbers.tenant, numbers.name, style=style)
        count = sum(text.count("\n") for text in written)
        if omitted or series + count > settings.METRICS_MAX_SERIES:
            omitted += 1
            continue
        series += count
        page.add_lines(names.QUEUE_METRICS, written)
    page.add((*names.STATE_METRICS, names.QUEUES_OMITTED), Exporter(fleet, True, omitted))
    return page.encoded(), omitted


def render_settings(fleet: Fleet) -> bytes:
    """Render the settings of the queues that METRICS_MAX_SERIES allows, the first ones."""
    page = Page()
    page.declare(names.SETTING_METRICS)
    for numbers in _oldest_first(fleet.queues)[: settings.METRICS_MAX_SERIES // SERIES_OF_SETTINGS]:
        page.add(names.SETTING_METRICS, fleet.reading_of(numbers), numbers.tenant, numbers.name)
    page.add(names.STATE_METRICS, Exporter(fleet, True))
    return page.encoded()


SERIES_OF_SETTINGS = 11
"""The most series of one queue on the page of settings."""


def _oldest_first(queues: Iterable[QueueNumbers]) -> list[QueueNumbers]:
    return sorted(queues, key=lambda numbers: numbers.queue_id)


def render_process(*, exemplars: bool = False) -> bytes:
    """Render what this process itself has measured, without the database: sends, receives, requests of the API."""
    page = Page()
    page.add((*names.PROCESS_METRICS, *names.API_METRICS), None, style=TRACED if exemplars else PLAIN)
    return page.encoded()
