"""The pages that Prometheus is given, from one reading of the fleet.

`/metrics` has what is not of one queue, `/metrics/queues` has the queues. No series is on both but the exporter's own.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from metrics import fleet_series, names, queue_series, stream_series
from metrics.api_requests import API_REQUESTS
from metrics.fleet import Fleet
from metrics.text import Page, histogram, upper_bounds
from queues.counters import QueueNumbers
from queues.durations import Spread
from signalbox import durations as process

_PROCESS_BOUNDS = upper_bounds(process.BOUNDS)


def render_fleet(fleet: Fleet | None, *, up: bool, omitted: int = 0) -> bytes:
    """Totals of the installation and its tenants, PostgreSQL, the exporter. Not `up`: the exporter alone."""
    if fleet is None or not up:
        return _exporter_alone(fleet)
    page = Page(
        (
            *names.FLEET_METRICS,
            *names.TENANT_METRICS,
            *names.STREAM_METRICS,
            *names.POSTGRES_METRICS,
            *names.EXPORTER_METRICS,
        )
    )
    fleet_series.add_totals(page, fleet)
    fleet_series.add_refusals(page, fleet.tenant_refusals)
    stream_series.add(page, fleet.streams)
    fleet_series.add_postgres(page, fleet.holders, fleet.engine)
    page.add(names.PG_READ_ONLY, float(fleet.read_only))
    fleet_series.add_maintenance(page, fleet.maintenance)
    fleet_series.add_clock(page, fleet.signs)
    fleet_series.add_trash(page, fleet.engine)
    fleet_series.add_archive(page, fleet.engine)
    fleet_series.add_exporter(page, fleet, up=True)
    page.add(names.EXPORTER_QUEUES_OMITTED, omitted)
    return page.encoded()


def render_queues(fleet: Fleet | None, *, up: bool, only: Sequence[QueueNumbers] | None = None) -> tuple[bytes, int]:
    """The series of all queues or of these, and how many queues were left out to keep METRICS_MAX_SERIES.

    The queues that were made first are kept, so that a new one never takes the series of another away.
    """
    if fleet is None or not up:
        return _exporter_alone(fleet), 0
    page = Page((*names.QUEUE_METRICS, *names.EXPORTER_METRICS))
    omitted = series = 0
    for numbers in sorted(fleet.queues if only is None else only, key=lambda each: each.queue_id):
        found, count = queue_series.lines(numbers, fleet.durations_of(numbers), fleet.leases_of(numbers))
        if omitted or series + count > settings.METRICS_MAX_SERIES:
            omitted += 1
            continue
        series += count
        for metric, lines in found:
            page.add_lines(metric, lines)
    fleet_series.add_exporter(page, fleet, up=True)
    page.add(names.EXPORTER_QUEUES_OMITTED, omitted)
    return page.encoded(), omitted


def render_process() -> bytes:
    """What this process itself has measured: its sends and receives, the API's requests; never from the database."""
    page = Page((*names.PROCESS_METRICS, *names.API_METRICS))
    for metric, measured in ((names.PUBLISH_DURATION, process.PUBLISH), (names.RECEIVE_DURATION, process.RECEIVE)):
        counts, seconds = measured.read()
        page.add_lines(metric, histogram(metric, "", Spread(counts, seconds), _PROCESS_BOUNDS))
    for lines in API_REQUESTS.lines():
        page.add_lines(names.API_REQUEST_DURATION, lines)
    return page.encoded()


def _exporter_alone(fleet: Fleet | None) -> bytes:
    page = Page(names.EXPORTER_METRICS[:3])
    fleet_series.add_exporter(page, fleet, up=False)
    return page.encoded()
