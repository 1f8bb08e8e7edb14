"""Measure sending from Python, one message at a time: with one call for each message, or batched by a `Sender`."""

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass

from bench.comparison import Arena
from bench.scenarios import PAYLOAD, SIGNALBOX
from bench.tables import ratio, table_line
from signalbox import Client, Sender

MESSAGES = 8_000
THREADS = 8
TITLE = f"Sending from Python one at a time, {THREADS} threads; x is the ratio to the first"
HEADINGS = ("", "messages/s", "x", "client CPU us", "x", "server CPU us", "x", "WAL bytes")
WIDTHS = (32, 11, 6, 14, 6, 14, 6, 10)


@dataclass(frozen=True)
class SenderSample:
    """One measurement; costs are for one message."""

    messages_per_second: float
    client_cpu_us: float
    server_cpu_us: float
    wal_bytes: float

    @classmethod
    def median(cls, samples: "list[SenderSample]") -> "SenderSample":
        columns = zip(*(astuple(sample) for sample in samples), strict=True)
        return cls(*map(statistics.median, columns))


SenderResults = dict[str, list[SenderSample]]


def call_each(url: str, messages: int) -> None:
    """Send with one client for each thread, each waiting for its commit."""

    def send(share: int) -> None:
        with Client(url) as client:
            for _ in range(share):
                client.send("bench", PAYLOAD)

    _share_out(send, messages)


def gather_and_wait(url: str, messages: int) -> None:
    """Send with one shared sender; each thread waits for an id before it sends the next message."""
    with Client(url) as client, Sender(client) as sender:
        _share_out(lambda share: [sender.send("bench", PAYLOAD).result() for _ in range(share)], messages)


def gather_and_go_on(url: str, messages: int) -> None:
    """Send with one shared sender, and read the ids at the end."""
    with Client(url) as client, Sender(client) as sender:

        def send(share: int) -> None:
            for sent in [sender.send("bench", PAYLOAD) for _ in range(share)]:
                sent.result()

        _share_out(send, messages)


def _share_out(send: Callable[[int], object], messages: int) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(send, [messages // THREADS] * THREADS))


#: Reference of the comparison: the first habit.
HABITS = {
    "a call each": call_each,
    "gathered, each waits for its id": gather_and_wait,
    "gathered, ids at the end": gather_and_go_on,
}


def measure_senders(arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]) -> SenderResults:
    """Measure every habit with equal numbers of messages, `rounds` times; each round starts with another one."""
    messages = max(THREADS, int(MESSAGES * scale)) // THREADS * THREADS
    results: SenderResults = {name: [] for name in HABITS}
    names = list(HABITS)
    for number in range(rounds):
        for place in range(len(names)):
            name = names[(number + place) % len(names)]
            progress(f"round {number + 1} of {rounds}: sender, {name}")
            arena.prepare(SIGNALBOX, 0)
            results[name].append(_measure(arena, HABITS[name], messages))
    return results


def _measure(arena: Arena, send: Callable[[str, int], None], messages: int) -> SenderSample:
    client_cpu_seconds = time.process_time()
    with arena.meter.measure() as cost:
        started = time.monotonic()
        send(arena.url, messages)
        seconds = time.monotonic() - started
        client_cpu_seconds = time.process_time() - client_cpu_seconds
        arena.connection.execute(SIGNALBOX.sql("catch_up"))
    if arena.waiting(SIGNALBOX) != messages:
        raise RuntimeError(f"{arena.waiting(SIGNALBOX)} of {messages} messages arrived")
    return SenderSample(
        messages_per_second=messages / seconds,
        client_cpu_us=client_cpu_seconds / messages * 1e6,
        server_cpu_us=cost.cpu_seconds / messages * 1e6,
        wal_bytes=cost.wal_bytes / messages,
    )


def sender_lines(results: SenderResults) -> Iterator[str]:
    """Table of medians for people."""
    yield TITLE
    yield table_line(HEADINGS, WIDTHS)
    medians = {name: SenderSample.median(samples) for name, samples in results.items()}
    first = next(iter(medians.values()))
    for name, sample in medians.items():
        yield table_line(
            (
                name,
                f"{sample.messages_per_second:,.0f}",
                ratio(sample.messages_per_second, first.messages_per_second),
                f"{sample.client_cpu_us:,.0f}",
                ratio(sample.client_cpu_us, first.client_cpu_us),
                f"{sample.server_cpu_us:,.0f}",
                ratio(sample.server_cpu_us, first.server_cpu_us),
                f"{sample.wal_bytes:,.0f}",
            ),
            WIDTHS,
        )


def sender_measurements(results: SenderResults) -> Iterator[dict[str, object]]:
    """One object for each habit: its medians, and every round."""
    for name, samples in results.items():
        median = asdict(SenderSample.median(samples))
        yield {"sender": name, **median, "every_round": [asdict(sample) for sample in samples]}
