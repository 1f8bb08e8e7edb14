"""Measure the SQS endpoint and the HTTP API in turn, and then polls that wait."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from bench.comparison import Arena
from bench.over_http.load import BATCH, CONNECTIONS
from bench.over_http.serving import Endpoint, moto_server, serving
from bench.scenarios import SIGNALBOX
from bench.server import ScratchServer
from bench.sqs.clients import Door, SqsDoor, api_door, sqs_door
from bench.sqs.polls import POLLS, PollSample, wake_all
from bench.tables import table_line

BATCHES = 1_000
WORKS = (f"send {BATCH}", f"receive {BATCH}, delete")
HEADINGS = ("", "", "messages/s", "p99 ms")
WIDTHS = (20, 16, 12, 9)
POLL_HEADINGS = ("", "messages/s", "p99 ms", "server MB", "KB each")
POLL_WIDTHS = (28, 12, 9, 11, 9)
MOTO = "moto's server"
MOTO_SHARE = 0.05
"""Share of the batches for moto, because each of its receives examines every message."""
Connect = Callable[[], Awaitable[Door]]


@dataclass(frozen=True)
class SqsSample:
    """One measurement of one door."""

    messages_per_second: float
    p99_ms: float

    @classmethod
    def median(cls, samples: Sequence[SqsSample]) -> SqsSample:
        pairs = [(one.messages_per_second, one.p99_ms) for one in samples]
        return cls(*map(statistics.median, zip(*pairs, strict=True)))


@dataclass
class SqsResults:
    """Samples by work and door, and of polls that wait by door."""

    samples: dict[str, dict[str, list[SqsSample]]] = field(default_factory=dict)
    polls: dict[str, PollSample] = field(default_factory=dict)


def measure_sqs(
    server: ScratchServer, arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]
) -> SqsResults:
    """Measure both works at every door; then let many polls wait at the doors of Signalbox."""
    results = SqsResults({work: {} for work in WORKS})
    with serving(server.home, server.url) as (api, _), moto_server() as moto:
        for number in range(rounds):
            for name, connect in _doors(api, moto, number):
                progress(f"round {number + 1} of {rounds}: SQS, {name}")
                arena.prepare(SIGNALBOX, 0)
                batches = max(CONNECTIONS, int(BATCHES * scale * (MOTO_SHARE if name == MOTO else 1)))
                for work, sample in asyncio.run(_measure(connect, batches)).items():
                    results.samples[work].setdefault(name, []).append(sample)
        for name, connect in _doors(api, moto, 1):
            if name != MOTO:  # moto starts a thread for each poll
                arena.prepare(SIGNALBOX, 0)
                progress(f"SQS, {name}: polls that wait")
                results.polls[name] = asyncio.run(wake_all(connect, api, max(10, int(POLLS * min(1.0, scale)))))
    return results


def _doors(api: Endpoint, moto: Endpoint, number: int) -> Iterator[tuple[str, Connect]]:
    doors: list[tuple[str, Connect]] = [
        ("SQS endpoint", lambda: _opened(api, "/sqs/")),
        ("HTTP API", lambda: api_door(api, SIGNALBOX.queue)),
        (MOTO, lambda: _opened(moto, "/", keeps=False)),
    ]
    yield from doors if number % 2 else reversed(doors)


async def _opened(endpoint: Endpoint, path: str, *, keeps: bool = True) -> SqsDoor:
    door = await sqs_door(endpoint, path, keeps=keeps)
    if endpoint.port not in _urls:
        await door.open(SIGNALBOX.queue)
        _urls[endpoint.port] = door.url
    door.url = _urls[endpoint.port]
    return door


_urls: dict[int, str] = {}
"""The URL of the queue by the port of its server."""


async def _measure(connect: Connect, batches: int) -> dict[str, SqsSample]:
    doors = [await connect() for _ in range(CONNECTIONS)]
    each = batches // CONNECTIONS
    sent = await _timed(doors, [_send(door, each) for door in doors], each * CONNECTIONS * BATCH)
    left = [each * CONNECTIONS * BATCH]
    drained = await _timed(doors, [_drain(door, left) for door in doors], left[0])
    return dict(zip(WORKS, (sent, drained), strict=True))


async def _timed(doors: Sequence[Door], works: Sequence[Awaitable[None]], messages: int) -> SqsSample:
    for door in doors:
        door.seconds.clear()
    began = time.monotonic()
    await asyncio.gather(*works)
    seconds = time.monotonic() - began
    durations = sorted(one for door in doors for one in door.seconds)
    return SqsSample(messages / seconds, durations[int(len(durations) * 0.99)] * 1_000)


async def _send(door: Door, batches: int) -> None:
    for _ in range(batches):
        await door.send()


async def _drain(door: Door, left: list[int]) -> None:
    while left[0] > 0:
        drained = await door.drain()  # in two statements: other connections change the count during the await
        left[0] -= drained


def sqs_lines(results: SqsResults) -> Iterator[str]:
    """Section of the report for people."""
    yield f"SQS, {CONNECTIONS} connections, batches of {BATCH}"
    yield table_line(HEADINGS, WIDTHS, names=2)
    for work, by_door in results.samples.items():
        for place, (name, samples) in enumerate(by_door.items()):
            sample = SqsSample.median(samples)
            cells = (f"{sample.messages_per_second:,.0f}", f"{sample.p99_ms:,.1f}")
            yield table_line(("" if place else work, name, *cells), WIDTHS, names=2)
    yield ""
    yield table_line(POLL_HEADINGS, POLL_WIDTHS, names=1)
    for name, polls in results.polls.items():
        numbers = (polls.messages_per_second, polls.p99_ms, polls.server_megabytes, polls.kilobytes_each)
        yield table_line((f"{polls.polls:,} polls, {name}", *(f"{one:,.0f}" for one in numbers)), POLL_WIDTHS, names=1)


def sqs_measurements(results: SqsResults) -> dict[str, object]:
    """All measurements with their medians."""
    works = [
        {
            "work": work,
            "door": name,
            **asdict(SqsSample.median(samples)),
            "every_round": [asdict(one) for one in samples],
        }
        for work, by_door in results.samples.items()
        for name, samples in by_door.items()
    ]
    return {"works": works, "polls": [{"door": name, **asdict(one)} for name, one in results.polls.items()]}
