"""Pause of sends by a move: `python -m bench.fleet.pause --moves 20 --rate 1000`.

Sends to sixteen partitions at a steady rate while they move between two servers and back, and receives from both. The
pause of a move is the longest send during the move. Every received message is counted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import django

from bench.server import ScratchServer
from signalbox.fleet.client import FleetClient
from signalbox.fleet.map import partition_of

QUEUE = "moving"
PARTITIONS = range(16)
GROUPS = [name for name in (f"group-{number}" for number in range(1_000)) if partition_of(name) in PARTITIONS]
SENDERS = 8
RECEIVERS = 2
SETTLE_SECONDS = 1.0
BATCH = 100
LOOK_SECONDS = 0.05


@dataclass
class Traffic:
    """Traffic over the fleet: threads that send and receive until they are stopped."""

    seed: str
    rate: float
    sends: list[tuple[float, float]] = field(default_factory=list)
    """The beginning of each send, and its seconds."""
    sent: Counter[int] = field(default_factory=Counter)
    received: Counter[int] = field(default_factory=Counter)
    failed: list[Exception] = field(default_factory=list)
    stops: threading.Event = field(default_factory=threading.Event)
    ends: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send and receive while the block runs; then receive the other messages."""
        numbers = itertools.count()
        senders = [threading.Thread(target=self._send, args=(numbers,)) for _ in range(SENDERS)]
        receivers = [threading.Thread(target=self._receive) for _ in range(RECEIVERS)]
        for thread in [*senders, *receivers]:
            thread.start()
        try:
            yield
        finally:
            self.stops.set()
            for thread in senders:
                thread.join()
            self.ends.set()
            for thread in receivers:
                thread.join()

    def _send(self, numbers: Iterator[int]) -> None:
        with FleetClient(self.seed) as client:
            due = time.monotonic()
            while not self.stops.wait(max(0.0, due - time.monotonic())):
                number, began = next(numbers), time.monotonic()
                try:
                    client.send(QUEUE, number, group_id=GROUPS[number % len(GROUPS)])
                except Exception as error:
                    self.failed.append(error)
                else:
                    self.sends.append((began, time.monotonic() - began))
                    self.sent[number] += 1
                due = max(due + SENDERS / self.rate, began)

    def _receive(self) -> None:
        with FleetClient(self.seed) as client:
            while True:
                messages = client.receive(QUEUE, BATCH, wait_seconds=SETTLE_SECONDS)
                if not messages and self.ends.is_set():
                    return
                client.ack_batch(messages)
                self.received.update(message.payload for message in messages)

    def longest(self, since: float, until: float) -> float:
        """Return the seconds of the longest send that was under way between two times."""
        return max((took for began, took in self.sends if began < until and began + took > since), default=0.0)


def measure(moves: int, rate: float) -> tuple[Traffic, list[float]]:
    """Move the partitions under traffic; returns the traffic and the pause of each move."""
    with ScratchServer() as a, ScratchServer() as b, a.upkeep(), b.upkeep():
        os.environ |= {"SIGNALBOX_HOME": str(a.home), "DJANGO_SETTINGS_MODULE": "console.settings"}
        os.environ.pop("DATABASE_URL", None)
        django.setup()
        from queues import fleet
        from queues.control.queues import create_queue

        fleet.add_cell("a", a.url, actor="bench")
        fleet.add_cell("b", b.url, actor="bench")
        create_queue(QUEUE)
        fleet.place(QUEUE, ["a"], actor="bench")
        traffic, pauses = Traffic(a.url, rate), []
        with traffic.running():
            for number in range(moves):
                time.sleep(SETTLE_SECONDS)
                began = time.monotonic()
                [move] = fleet.start(QUEUE, PARTITIONS, "ba"[number % 2], actor="bench")
                while not fleet.advance(move.move_id).has_ended:
                    time.sleep(LOOK_SECONDS)
                ended = time.monotonic()
                time.sleep(SETTLE_SECONDS)  # by now, sends that began during the move have ended
                pauses.append(traffic.longest(began, ended))
        return traffic, pauses


def report(traffic: Traffic, pauses: Sequence[float]) -> Iterator[str]:
    """Lines about the pauses, the sends and the messages."""
    took = sorted(seconds for _, seconds in traffic.sends)
    span = max(began for began, _ in traffic.sends) - min(began for began, _ in traffic.sends)
    yield f"{len(took)} sends, {len(took) / span:.0f} a second, half of them within {took[len(took) // 2] * 1e3:.1f} ms"
    yield (
        f"{len(pauses)} moves: the longest send that a move met took {statistics.median(pauses) * 1e3:.0f} ms in half"
        f" of the moves, and at most {max(pauses) * 1e3:.0f} ms"
    )
    lost, twice = traffic.sent - traffic.received, sum(count > 1 for count in traffic.received.values())
    yield f"{lost.total()} lost, {twice} received twice, {len(traffic.failed)} sends failed"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.pause", description=__doc__)
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--rate", type=float, default=1_000.0, help="sends a second")
    chosen = parser.parse_args()
    for line in report(*measure(chosen.moves, chosen.rate)):
        print(line)


if __name__ == "__main__":
    main()
