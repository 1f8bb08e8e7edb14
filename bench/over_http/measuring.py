"""Measure the API and the bare endpoint in turn, round after round, and then waiting polls."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass, field

from bench.comparison import Arena
from bench.over_http.load import BATCH, CONNECTIONS, WORKS, Work, run
from bench.over_http.polling import POLLS, WAKE_UPS, IdlePolls, WakeUps, idle_polls, room_for, wake_ups
from bench.over_http.serving import Endpoint, serving
from bench.scenarios import SIGNALBOX
from bench.server import ScratchServer
from bench.tables import ratio, table_line

REQUESTS = 2_000
STOCKED = 1_000  # the stock is sent in thousands
TITLE = f"Over HTTP, {CONNECTIONS} connections; x is the ratio to the bare endpoint"
HEADINGS = ("", "", "requests/s", "x", "server CPU us", "x", "postgres CPU us", "x")
WIDTHS = (18, 16, 11, 6, 14, 6, 16, 6)


@dataclass(frozen=True)
class HttpSample:
    """One measurement; costs are for one request."""

    requests_per_second: float
    server_cpu_us: float
    postgres_cpu_us: float

    @classmethod
    def median(cls, samples: list[HttpSample]) -> HttpSample:
        columns = zip(*(astuple(sample) for sample in samples), strict=True)
        return cls(*map(statistics.median, columns))


@dataclass
class HttpResults:
    """Samples by work and endpoint."""

    samples: dict[str, dict[str, list[HttpSample]]] = field(default_factory=dict)
    wake_ups: WakeUps | None = None
    idle: IdlePolls | None = None


def measure_http(
    server: ScratchServer, arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]
) -> HttpResults:
    """Measure every work at both endpoints; each round starts with another one."""
    results = HttpResults({work.name: {} for work in WORKS})
    polls = max(10, int(POLLS * min(1.0, scale)))
    room_for(2 * polls)  # the servers inherit the limit
    with serving(server.home, server.url) as endpoints:
        for number in range(rounds):
            for work in WORKS:
                for endpoint in endpoints if number % 2 else reversed(endpoints):
                    progress(f"round {number + 1} of {rounds}: over HTTP, {work.name}, {endpoint.name}")
                    samples = results.samples[work.name].setdefault(endpoint.name, [])
                    samples.append(_measure(arena, endpoint, work, scale))
        api = endpoints[0]
        arena.prepare(SIGNALBOX, 0)
        progress("over HTTP: polls that are woken")
        results.wake_ups = asyncio.run(wake_ups(api, SIGNALBOX.queue, max(3, int(WAKE_UPS * min(1.0, scale)))))
        progress(f"over HTTP: {polls:,} polls that wait")
        results.idle = asyncio.run(idle_polls(api, arena, SIGNALBOX.queue, polls))
    return results


def _measure(arena: Arena, endpoint: Endpoint, work: Work, scale: float) -> HttpSample:
    share = work.batch * CONNECTIONS
    messages = max(share, int(REQUESTS * scale / work.requests) * work.batch // share * share)
    requests = messages // work.batch * work.requests
    stock = -(-messages // STOCKED) * STOCKED if work.drains else 0
    arena.prepare(SIGNALBOX, stock)
    asyncio.run(run(endpoint, work, SIGNALBOX.queue, 0))  # connect, and wake idle processes
    cpu_seconds = endpoint.cpu_seconds()
    with arena.meter.measure() as cost:
        began = time.monotonic()
        asyncio.run(run(endpoint, work, SIGNALBOX.queue, messages))
        seconds = time.monotonic() - began
        cpu_seconds = endpoint.cpu_seconds() - cpu_seconds
    left = arena.waiting(SIGNALBOX)
    if left != (stock - messages if work.drains else messages):
        raise RuntimeError(f"{left} messages are left after {work.name!r} by the {endpoint.name}")
    arena.empty(SIGNALBOX)
    rest = arena.rest.cpu_seconds / arena.rest.seconds * cost.seconds if arena.rest.seconds else 0.0
    return HttpSample(requests / seconds, cpu_seconds / requests * 1e6, (cost.cpu_seconds - rest) / requests * 1e6)


def http_lines(results: HttpResults) -> Iterator[str]:
    """Section of the report for people."""
    yield TITLE
    yield table_line(HEADINGS, WIDTHS, names=2)
    for work, by_endpoint in results.samples.items():
        medians = {name: HttpSample.median(samples) for name, samples in by_endpoint.items()}
        floor = medians["bare endpoint"]
        for place, (name, sample) in enumerate(sorted(medians.items(), key=lambda each: each[1] is not floor)):
            cells = [f"{value:,.0f}" for value in astuple(sample)]
            ratios = [
                "" if sample is floor else ratio(*pair) for pair in zip(astuple(sample), astuple(floor), strict=True)
            ]
            pairs = [cell for pair in zip(cells, ratios, strict=True) for cell in pair]
            yield table_line(("" if place else work, name, *pairs), WIDTHS, names=2)
    if woken := results.wake_ups:
        yield (
            f"{woken.wake_ups} polls woken: half had the message {woken.p50_ms:.1f} ms after the answer to the send,"
            f" 95 % {woken.p95_ms:.1f} ms"
        )
    if idle := results.idle:
        yield (
            f"{idle.polls:,} polls that wait: each second {idle.server_cpu_ms:.0f} ms of the server's CPU and"
            f" {idle.postgres_cpu_ms:.0f} ms of postgres'; {idle.kilobytes_each:.0f} kB each, {idle.threads} threads"
            f" and {idle.connections} connections to the database in all"
        )


def _cells(sample: HttpSample, floor: HttpSample) -> Iterator[str]:
    for value, least in zip(astuple(sample), astuple(floor), strict=True):
        yield f"{value:,.0f}"
        yield "" if sample is floor or not least else ratio(value, least)


def http_measurements(results: HttpResults) -> dict[str, object]:
    """All measurements with their medians."""
    works = [
        {
            "work": work,
            "endpoint": name,
            **asdict(HttpSample.median(samples)),
            "every_round": [asdict(sample) for sample in samples],
        }
        for work, by_endpoint in results.samples.items()
        for name, samples in by_endpoint.items()
    ]
    return {
        "batch": BATCH,
        "works": works,
        "wake_ups": asdict(results.wake_ups) if results.wake_ups else None,
        "idle": asdict(results.idle) if results.idle else None,
    }
