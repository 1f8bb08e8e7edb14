"""Measure each peer: single sends, then draining a stock in the peer's own way, on one server."""

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from bench.client.workers import HABITS, MESSAGES, measure_workers
from bench.comparison import Arena
from bench.peers.installing import PEERS, SIGNALBOX, Peer, installed
from bench.scenarios import PAYLOAD
from bench.tables import table_line

SENDS = 2_000
WARM_UP_MESSAGES = 500
PATIENCE_SECONDS = 600
TITLE = "Other queues: sends one at a time, and a stock worked off by each one's own worker; server CPU per message"
HEADINGS = ("", "sends/s", "CPU us", "WAL bytes", "worked off/s", "CPU us", "WAL bytes")
WIDTHS = (42, 10, 9, 11, 14, 9, 11)


@dataclass(frozen=True)
class PeerSample:
    """One measurement; costs are the server's, for one message."""

    messages_per_second: float
    server_cpu_us: float
    wal_bytes: float

    @classmethod
    def median(cls, samples: "list[PeerSample]") -> "PeerSample":
        columns = zip(*(astuple(sample) for sample in samples), strict=True)
        return cls(*map(statistics.median, columns))


@dataclass(frozen=True)
class PeerResults:
    """Samples by the name of the sender or worker."""

    sends: dict[str, list[PeerSample]]
    works: dict[str, list[PeerSample]]


def measure_peers(arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]) -> PeerResults:
    """Measure every peer in a database of its own, with everything loaded and prepared first."""
    sends, stock = int(SENDS * scale) or 1, max(WARM_UP_MESSAGES, int(MESSAGES * scale) // 500 * 500)
    results = PeerResults({}, {})
    with installed(progress) as home:
        for peer in (*PEERS, SIGNALBOX):
            samples = []
            for number in range(rounds):
                progress(f"round {number + 1} of {rounds}: {peer.name}")
                with _database(arena, peer) as url:
                    samples.append(_send_and_work(arena, home, peer, url, sends, stock))
            results.sends[peer.name] = [sent for sent, _ in samples]
            results.works[peer.name] = [worked for _, worked in samples if worked]
    for habit, workers in measure_workers(arena, stock, rounds, progress).items():
        if habit in (HABITS[0], HABITS[-1]):
            results.works[f"{SIGNALBOX.name}, {habit.name}"] = [
                PeerSample(sample.messages_per_second, sample.server_cpu_us, sample.wal_bytes) for sample in workers
            ]
    return results


def _send_and_work(
    arena: Arena, home: Path, peer: Peer, url: str, sends: int, stock: int
) -> tuple[PeerSample, PeerSample | None]:
    if peer is SIGNALBOX:
        return _measure(arena, home, peer, "send", url, sends), None
    for work, count in (("prepare", 0), ("fill", WARM_UP_MESSAGES), ("work", WARM_UP_MESSAGES)):
        _measure(arena, home, peer, work, url, count)
    sent = _measure(arena, home, peer, "send", url, sends)
    _measure(arena, home, peer, "work", url, sends)
    _measure(arena, home, peer, "fill", url, stock)
    return sent, _measure(arena, home, peer, "work", url, stock)


def _measure(arena: Arena, home: Path, peer: Peer, work: str, url: str, count: int) -> PeerSample:
    """Measure one program from its start signal on."""
    command = peer.command(home, work, url, str(count), PAYLOAD)
    process = subprocess.Popen(
        command, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    if work in ("send", "work"):
        process.stdout.readline()
    with arena.meter.measure() as cost:
        started = time.monotonic()
        _, errors = process.communicate("go\n", PATIENCE_SECONDS)
        seconds = time.monotonic() - started
    if process.returncode:
        raise RuntimeError(f"{peer.name} could not {work}:\n{errors}")
    messages = max(count, 1)
    return PeerSample(messages / seconds, cost.cpu_seconds / messages * 1e6, cost.wal_bytes / messages)


@contextmanager
def _database(arena: Arena, peer: Peer) -> Iterator[str]:
    """Return the database of a peer: Signalbox uses its installation, the others an empty database."""
    if peer is SIGNALBOX:
        yield arena.url
        return
    arena.connection.execute("create database peer")
    try:
        # A host beside the socket folder, for drivers that read addresses as web URLs.
        address, _, socket = arena.url.partition("?")
        yield f"{address.rpartition('/')[0]}localhost/peer?{socket}"
    finally:
        arena.connection.execute("drop database peer with (force)")


def peer_lines(results: PeerResults) -> Iterator[str]:
    """Table of medians for people."""
    yield TITLE
    yield table_line(HEADINGS, WIDTHS)
    for name in dict.fromkeys([*results.sends, *results.works]):
        yield table_line((name, *_cells(results.sends.get(name)), *_cells(results.works.get(name))), WIDTHS)


def peer_measurements(results: PeerResults) -> Iterator[dict[str, object]]:
    """One object for each peer and kind of work: its medians, and every round."""
    for work, samples_of in (("send", results.sends), ("work", results.works)):
        for name, samples in samples_of.items():
            if samples:
                median = asdict(PeerSample.median(samples))
                yield {"peer": name, "work": work, **median, "every_round": [asdict(sample) for sample in samples]}


def _cells(samples: list[PeerSample] | None) -> tuple[str, str, str]:
    if not samples:
        return ("", "", "")
    sample = PeerSample.median(samples)
    return (f"{sample.messages_per_second:,.0f}", f"{sample.server_cpu_us:,.0f}", f"{sample.wal_bytes:,.0f}")
