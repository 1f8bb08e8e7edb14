"""Measure the compared queues in turn, round after round, each scenario from equal starting conditions."""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psycopg

from bench import pgbench
from bench.measuring import Cost, Meter
from bench.scenarios import BARE, FAIR, GROUPED, LANES, PRIORITIES, SIGNALBOX, TEXTBOOK, Scenario, Side, sides_of

REST_SECONDS = 3.0


@dataclass(frozen=True)
class Sample:
    """One measurement; all numbers but the first are for one message."""

    messages_per_second: float
    cpu_us: float
    wal_bytes: float

    @classmethod
    def median(cls, samples: "list[Sample]") -> "Sample":
        columns = zip(*((s.messages_per_second, s.cpu_us, s.wal_bytes) for s in samples), strict=True)
        return cls(*map(statistics.median, columns))


class Arena:
    """Queues in one server with running upkeep, and the means to measure each."""

    def __init__(
        self, connection: psycopg.Connection, url: str, settle_seconds: float, full_pages: bool = False
    ) -> None:
        self.connection = connection
        self.url = url
        self.settle_seconds = settle_seconds
        self.full_pages = full_pages
        self.meter = Meter(connection)
        self.rest = Cost()
        for side in (TEXTBOOK, SIGNALBOX, BARE, PRIORITIES, LANES, GROUPED, FAIR):
            connection.execute(side.sql("schema"))

    def measure_rest(self) -> None:
        """Cost of idle upkeep; queues without upkeep are not charged for it."""
        with self.meter.measure() as self.rest:
            time.sleep(REST_SECONDS)

    def prepare(self, side: Side, stock: int) -> None:
        """Empty tables, everything flushed, then the stock: its pages are in the log before any measurement.

        PostgreSQL logs a whole page at its first change after a checkpoint. This order spares every side, unless
        `full_pages` asks for a stock older than the last checkpoint, as every backlog of some minutes is.
        """
        self.empty(side)
        self.connection.execute(side.sql("settle"))
        self.connection.execute("checkpoint")
        if stock:
            self.connection.execute(side.sql("fill", messages=stock))
        self.prepare_laid(side)

    def prepare_laid(self, side: Side) -> None:
        """Let the stock, which is there, come to rest."""
        self.connection.execute(side.sql("analyze"))
        if self.full_pages:
            self.connection.execute("checkpoint")
        time.sleep(self.settle_seconds)

    def empty(self, side: Side) -> None:
        while self.waiting(side):
            self.connection.execute(side.sql("empty"))

    def waiting(self, side: Side) -> int:
        row = self.connection.execute(side.sql("waiting")).fetchone()
        return int(row[0]) if row else 0

    def run(self, side: Side, scenario: Scenario) -> Sample:
        """Run the scenario once, and check that it did what it claims."""
        before = self.waiting(side)
        with self.meter.measure() as cost:
            seconds = pgbench.run_transactions(self.url, side.script(scenario), scenario.clients, scenario.transactions)
            self.connection.execute(side.sql("catch_up"))
        in_hand = scenario.clients * scenario.batch if side.one_call else 0
        handled = abs(self.waiting(side) - before) + in_hand
        if handled != scenario.handled:
            raise RuntimeError(f"{side.name} handled {handled} messages of {scenario.handled} in {scenario.name!r}")
        return self.sample(side, handled, seconds, cost)

    def sample(self, side: Side, messages: int, seconds: float, cost: Cost) -> Sample:
        cpu_seconds = cost.cpu_seconds
        if side.folder != SIGNALBOX.folder and self.rest.seconds:
            cpu_seconds -= self.rest.cpu_seconds / self.rest.seconds * cost.seconds
        return Sample(messages / seconds, cpu_seconds / messages * 1e6, cost.wal_bytes / messages)


Results = dict[Scenario, dict[Side, list[Sample]]]


def compare(
    arena: Arena,
    scenarios: Iterable[Scenario],
    rounds: int,
    progress: Callable[[str], None],
    others: Iterable[Side] = (),
) -> Results:
    """Measure all sides of all scenarios and the other jobs, `rounds` times; each round starts with another one."""
    results: Results = defaultdict(lambda: defaultdict(list))
    scenarios = list(scenarios)
    for number in range(rounds):
        for scenario in scenarios:
            sides = (*sides_of(scenario), *others)
            for place in range(len(sides)):
                side = sides[(number + place) % len(sides)]
                progress(f"round {number + 1} of {rounds}: {scenario.name}, {side.name}")
                arena.prepare(side, scenario.stock)
                results[scenario][side].append(arena.run(side, scenario))
                arena.empty(side)
    return results
