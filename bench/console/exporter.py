"""Cost of a scrape and of the refresh behind it with 10, 100, 1,000 and 10,000 queues.

Every queue has had a message sent, received and acknowledged, so that it has all its series. A refresh is split into
the CPU time of the server, of reading the answers, of rendering and of compressing, and its whole wall time. A scrape
is measured from the request to the answer, in the console's own process.
"""

import os
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import psutil
import psycopg

from bench.server import ScratchServer
from bench.tables import table_line

QUEUES = (10, 100, 1_000, 10_000)
ROUNDS = 9
MANY_SERIES = 100_000_000
TITLE = "The exporter: CPU milliseconds, and a reading by the clock; a scrape is of /metrics/queues, compressed"
HEADINGS = (
    "queues",
    "server",
    "read",
    "render",
    "compress",
    "sum",
    "by clock",
    "scrape",
    "series",
    "MB",
    "MB gzip",
)
WIDTHS = (8, 9, 8, 9, 10, 9, 11, 8, 10, 8, 9)

# Traffic for every queue that has had none, so that every queue has all its series.
LIVE = (
    "select count(signalbox.create_queue('exported-' || n)) from generate_series(%(first)s::int, %(last)s::int) n",
    "select count(signalbox.send('exported-' || n, '1')) from generate_series(%(first)s::int, %(last)s::int) n",
    """
    select count(*)
    from generate_series(%(first)s::int, %(last)s::int) n, signalbox.receive('exported-' || n) r,
      signalbox.ack(array[r.receipt_handle]) a
    """,
    "select signalbox.aggregate_counters()",
)


@dataclass(frozen=True)
class ExporterTime:
    """Milliseconds for one refresh or scrape, and the size of a page."""

    queues: int
    server_ms: float
    read_ms: float
    render_ms: float
    compress_ms: float
    reading_ms: float
    clock_ms: float
    scrape_ms: float
    series: int
    megabytes: float
    gzipped_megabytes: float


def measure_exporter(
    connection: psycopg.Connection, server: ScratchServer, scale: float, say: Callable[[str], None]
) -> list[ExporterTime]:
    """Measure the exporter over growing numbers of queues."""
    _set_up(server)
    times, made = [], 0
    for wanted in QUEUES:
        queues = max(made + 1, int(wanted * scale))
        say(f"exporter: {queues:,} queues")
        for statement in LIVE:
            connection.execute(statement, {"first": made + 1, "last": queues})
        connection.execute("vacuum (analyze) signalbox.queue, signalbox.queue_stat, signalbox.claim_floor")
        made = queues
        times.append(_measured(queues))
    return times


def exporter_lines(times: list[ExporterTime]) -> list[str]:
    """Section of the report for people."""
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
    from metrics.exposition import pages
    from metrics.exposition.pages import render_fleet, render_queues
    from metrics.reading.fleet import read_fleet

    fleet = read_fleet()
    page = render_queues(fleet)[0]
    before = _session_seconds()
    read_ms = _cpu_ms(read_fleet)
    server_ms = (_session_seconds() - before) * 1000 / ROUNDS
    render_ms = _cpu_ms(lambda: (render_queues(fleet), render_fleet(fleet)))
    compress_ms = _cpu_ms(lambda: pages.Answer(page).gzipped)
    return ExporterTime(
        queues=queues,
        server_ms=server_ms,
        read_ms=read_ms,
        render_ms=render_ms,
        compress_ms=compress_ms,
        reading_ms=server_ms + read_ms + render_ms + compress_ms,
        clock_ms=_clock_ms(lambda: pages.render(read_fleet())),
        scrape_ms=_scrape_ms(),
        series=sum(not line.startswith(b"#") for line in page.splitlines()),
        megabytes=len(page) / 1e6,
        gzipped_megabytes=len(pages.Answer(page).gzipped) / 1e6,
    )


def _scrape_ms() -> float:
    """Measure scrapes that use the numbers of a recent refresh; the first scrape makes the refresh."""
    from django.test import Client

    from metrics.reading.snapshot import Snapshot, snapshot

    # The clock stands still, so that no refresh is due.
    snapshot.__dict__.update(Snapshot(clock=lambda: 0.0, wait_seconds=600).__dict__)
    client = Client(SERVER_NAME="localhost")

    def scrape() -> None:
        answer = client.get("/metrics/queues", headers={"accept-encoding": "gzip"})
        if answer.status_code != 200:
            raise RuntimeError(f"/metrics/queues answered {answer.status_code}")

    scrape()
    return _cpu_ms(scrape)


def _session_seconds() -> float:
    """CPU time of the session that reads, without the upkeep that runs beside it."""
    from django.db import connection

    return sum(psutil.Process(connection.connection.info.backend_pid).cpu_times()[:2])


def _cpu_ms(work: Callable[[], Any]) -> float:
    """CPU time of this process for one scrape."""
    began = time.process_time()
    for _ in range(ROUNDS):
        work()
    return (time.process_time() - began) * 1000 / ROUNDS


def _clock_ms(work: Callable[[], Any]) -> float:
    """Wall time of the quickest runs; slower ones waited for something else."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000
