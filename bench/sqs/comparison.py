"""Measure the SQS endpoint and the HTTP API in turn, and polls that wait at the endpoint."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from bench.comparison import Arena
from bench.over_http.load import BATCH, CONNECTIONS
from bench.over_http.polling import POLLS, room_for
from bench.over_http.serving import Endpoint, serving
from bench.scenarios import SIGNALBOX
from bench.server import ScratchServer
from bench.sqs.clients import Door, SqsDoor, api_door, sqs_door
from bench.tables import table_line

BATCHES = 1_000
WORKS = (f"send {BATCH}", f"receive {BATCH}, delete")
HEADINGS = ("", "", "messages/s", "p99 ms")
WIDTHS = (20, 16, 12, 9)
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
    """Samples by work and door; the seconds in which all waiting polls got their messages."""

    samples: dict[str, dict[str, list[SqsSample]]] = field(default_factory=dict)
    polls: int = 0
    woken_seconds: float = 0.0


def measure_sqs(
    server: ScratchServer, arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]
) -> SqsResults:
    """Measure both works at every door; then let many polls wait at the SQS endpoint."""
    results = SqsResults({work: {} for work in WORKS}, polls=max(10, int(POLLS * min(1.0, scale))))
    room_for(2 * results.polls)
    with serving(server.home, server.url) as (api, _):
        for number in range(rounds):
            for name, connect in _doors(api, number):
                progress(f"round {number + 1} of {rounds}: SQS, {name}")
                arena.prepare(SIGNALBOX, 0)
                for work, sample in asyncio.run(_measure(connect, max(CONNECTIONS, int(BATCHES * scale)))).items():
                    results.samples[work].setdefault(name, []).append(sample)
        arena.prepare(SIGNALBOX, 0)
        progress(f"SQS: {results.polls:,} polls that wait")
        results.woken_seconds = asyncio.run(_wake_all(api, results.polls))
    return results


def _doors(api: Endpoint, number: int) -> Iterator[tuple[str, Connect]]:
    doors: list[tuple[str, Connect]] = [
        ("SQS endpoint", lambda: _opened(api)),
        ("HTTP API", lambda: api_door(api, SIGNALBOX.queue)),
    ]
    yield from doors if number % 2 else reversed(doors)


async def _opened(api: Endpoint) -> SqsDoor:
    door = await sqs_door(api, "/sqs/")
    await door.open(SIGNALBOX.queue)
    return door


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
        drained = await door.drain()  # apart: others count down while it waits
        left[0] -= drained


async def _wake_all(api: Endpoint, polls: int) -> float:
    """Return the seconds from the first send until the last of many waiting polls has its message."""
    sender, doors = await _opened(api), [await _opened(api) for _ in range(polls)]
    wanted = {"QueueUrl": sender.url, "WaitTimeSeconds": 20}
    waiting = [asyncio.create_task(door.ask("ReceiveMessage", wanted)) for door in doors]
    await asyncio.sleep(2)
    began = time.monotonic()
    for _ in range(-(-polls // BATCH)):
        await sender.send()
    answers = await asyncio.gather(*waiting)
    if not all(answer.get("Messages") for answer in answers):
        raise RuntimeError("a waiting poll got no message")
    return time.monotonic() - began


def sqs_lines(results: SqsResults) -> Iterator[str]:
    """Section of the report for people."""
    yield f"SQS, {CONNECTIONS} connections, batches of {BATCH}"
    yield table_line(HEADINGS, WIDTHS, names=2)
    for work, by_door in results.samples.items():
        for place, (name, samples) in enumerate(by_door.items()):
            sample = SqsSample.median(samples)
            cells = (f"{sample.messages_per_second:,.0f}", f"{sample.p99_ms:,.1f}")
            yield table_line(("" if place else work, name, *cells), WIDTHS, names=2)
    yield f"{results.polls:,} polls that waited had their messages {results.woken_seconds:.2f} s after the first send"


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
    return {"works": works, "polls": results.polls, "woken_seconds": results.woken_seconds}
