"""Runs the scenarios on every side in turn, round after round, in one server with upkeep at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg

from bench import pgbench
from bench.measuring import Cost, Meter
from bench.scenarios import SIGNALBOX_DURABLE, Scenario, Side

FILL_BATCH = 1000  # messages a statement of the fill scripts sends


@dataclass(frozen=True)
class Measurement:
    """What one scenario cost on one side in one round."""

    round: int
    scenario: Scenario
    side: Side
    cost: Cost

    @property
    def messages_per_second(self) -> float:
        return self.scenario.handled / self.cost.seconds

    @property
    def cpu_microseconds(self) -> float:
        """CPU time of every process of the server, per message."""
        return self.cost.cpu_seconds / self.scenario.handled * 1e6

    @property
    def wal_bytes(self) -> float:
        """Write-ahead log per message."""
        return self.cost.wal_bytes / self.scenario.handled


def prepare(connection: psycopg.Connection, sides: Sequence[Side]) -> None:
    """Make each folder's queue once; sides may share one."""
    for folder in dict.fromkeys(side.folder for side in sides):
        connection.execute(next(side for side in sides if side.folder == folder).sql("schema"))


def run_rounds(
    connection: psycopg.Connection,
    url: str,
    rounds: int,
    scenarios: Sequence[Scenario],
    sides: Sequence[Side],
    say: Callable[[str], None],
) -> list[Measurement]:
    """Sides take turns within each scenario, so that a machine whose speed drifts is unfair to none of them."""
    meter = Meter(connection)
    measured = []
    for number in range(rounds):
        for scenario in scenarios:
            for side in sides:
                if scenario.verb == "send" and side is SIGNALBOX_DURABLE:
                    continue  # claims do not occur in it
                cost = measure(connection, url, meter, scenario, side)
                measured.append(Measurement(number, scenario, side, cost))
                say(f"round {number + 1}: {scenario.name}, {side.name}")
    return measured


def measure(connection: psycopg.Connection, url: str, meter: Meter, scenario: Scenario, side: Side) -> Cost:
    """Fill what the scenario drains, settle, warm up, measure, and leave the queue empty."""
    fill(connection, side, scenario.stock + FILL_BATCH)
    settle(connection, side)
    script = side.script(scenario)
    pgbench.run(
        url, script, scenario.clients, transactions=max(1, FILL_BATCH // 4 // scenario.batch // scenario.clients)
    )
    with meter.measure() as cost:
        pgbench.run(url, script, scenario.clients, scenario.transactions)
    empty(connection, side)
    return cost


def fill(connection: psycopg.Connection, side: Side, messages: int) -> None:
    """At least this many messages waiting."""
    if messages > 0:
        connection.execute(side.sql("fill", messages=-(-messages // FILL_BATCH) * FILL_BATCH))


def settle(connection: psycopg.Connection, side: Side) -> None:
    """Vacuum what the earlier work left, and put a checkpoint behind us."""
    for statement in side.sql("settle").split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute("checkpoint")


def empty(connection: psycopg.Connection, side: Side) -> None:
    """Take out what is left, in as many calls as it needs."""
    while True:
        cursor = connection.execute(side.sql("empty"))
        if cursor.description is None or cursor.fetchone() == (0,):
            return
