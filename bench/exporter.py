"""What a scrape and the reading behind it cost as queues become more: 10, 100, 1,000 and 10,000.

Every queue has been sent to, received from and acknowledged, so that it has all its series. A reading is taken apart
into what the database is asked, what is rendered and what is compressed; a scrape is a whole request, from the request
to the answer, in the console's own process.
"""

import os
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from statistics import median
from typing import Any

import psycopg

from bench.server import ScratchServer
from bench.tables import table_line

QUEUES = (10, 100, 1_000, 10_000)
ROUNDS = 9
MANY_SERIES = 100_000_000
TITLE = "The exporter, in milliseconds; a scrape is of /metrics/queues, compressed, from what was read before"
HEADINGS = ("queues", "read", "render", "compress", "whole reading", "scrape", "series", "MB", "MB gzip")
WIDTHS = (8, 9, 9, 10, 15, 9, 10, 8, 9)

# A life for every queue that has had none, so that it has all its series.
LIVE = (
    "select count(signalbox.create_queue('exported-' || n)) from generate_series(%(first)s::int, %(last)s::int) n",
    "select count(signalbox.send('exported-' || n, '1')) from generate_series(%(first)s::int, %(last)s::int) n",
    """
    select count(*)
    from generate_series(%(first)s::int, %(last)s::int) n, signalbox.receive('exported-' || n) r,
      signalbox.ack(array[r.receipt_handle]) a
    """,
    "select signalbox.fold()",
)


@dataclass(frozen=True)
class ExporterTime:
    """Medians in milliseconds, and what a page holds."""

    queues: int
    read_ms: float
    render_ms: float
    compress_ms: float
    reading_ms: float
    scrape_ms: float
    series: int
    megabytes: float
    gzipped_megabytes: float


def measure_exporter(
    connection: psycopg.Connection, server: ScratchServer, scale: float, say: Callable[[str], None]
) -> list[ExporterTime]:
    """The same over more and more queues."""
    _set_up(server)
    times, made = [], 0
    for wanted in QUEUES:
        queues = max(made + 1, int(wanted * scale))
        say(f"exporter: {queues:,} queues")
        for statement in LIVE:
            connection.execute(statement, {"first": made + 1, "last": queues})
        connection.execute("vacuum (analyze) signalbox.queue, signalbox.queue_stat, signalbox.head")
        made = queues
        times.append(_measured(queues))
    return times


def exporter_lines(times: list[ExporterTime]) -> list[str]:
    """The section for people."""
    return [TITLE, table_line(HEADINGS, WIDTHS), *(table_line(_cells(one), WIDTHS) for one in times)]


def _cells(one: ExporterTime) -> list[str]:
    queues, *milliseconds, series, plain, gzipped = astuple(one)
    return [f"{queues:,}", *(f"{ms:.1f}" for ms in milliseconds), f"{series:,}", f"{plain:.2f}", f"{gzipped:.2f}"]


def _set_up(server: ScratchServer) -> None:
    os.environ |= {
        "SIGNALBOX_HOME": str(server.home),
        "DATABASE_URL": server.url,
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "HTTPS_ONLY": "false",
        "METRICS_MAX_SERIES": str(MANY_SERIES),
    }
    import django

    django.setup()


def _measured(queues: int) -> ExporterTime:
    from metrics import pages
    from metrics.collector import render_fleet, render_queues
    from metrics.fleet import read_fleet

    fleet = read_fleet()
    page = render_queues(fleet, up=True)[0]
    return ExporterTime(
        queues=queues,
        read_ms=_median_ms(read_fleet),
        render_ms=_median_ms(lambda: (render_queues(fleet, up=True), render_fleet(fleet, up=True))),
        compress_ms=_median_ms(lambda: pages.Answer(page).gzipped),
        reading_ms=_median_ms(lambda: pages.render(read_fleet())),
        scrape_ms=_scrape_ms(),
        series=sum(not line.startswith(b"#") for line in page.splitlines()),
        megabytes=len(page) / 1e6,
        gzipped_megabytes=len(pages.Answer(page).gzipped) / 1e6,
    )


def _scrape_ms() -> float:
    """Of requests that find a recent reading, which the first one leaves."""
    from django.test import Client

    from metrics.snapshot import Snapshot, snapshot

    snapshot.__dict__.update(Snapshot(clock=lambda: 0.0, wait_seconds=600).__dict__)  # time stands still: none is due
    client = Client(SERVER_NAME="localhost")

    def scrape() -> None:
        answer = client.get("/metrics/queues", headers={"accept-encoding": "gzip"})
        if answer.status_code != 200:
            raise RuntimeError(f"/metrics/queues answered {answer.status_code}")

    scrape()
    return _median_ms(scrape)


def _median_ms(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1000)
    return median(taken)
