"""How the cost of a claim grows with what waits, and with an old snapshot that is held open."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import psycopg

from bench import pgbench
from bench.measuring import Meter
from bench.rounds import empty, fill, settle
from bench.scenarios import SCENARIOS, SIGNALBOX, TEXTBOOK, Side

DRAIN_TEN = next(scenario for scenario in SCENARIOS if scenario.name == "drain 10")
SIDES = (TEXTBOOK, SIGNALBOX)


def measure_depths(
    connection: psycopg.Connection, url: str, depths: Sequence[int], say: Callable[[str], None]
) -> list[str]:
    """CPU per message of draining ten at a time from queues of these depths."""
    meter, lines = Meter(connection), []
    work = replace(DRAIN_TEN, messages=8_000)
    for side in SIDES:
        base = 0.0
        for depth in depths:
            fill(connection, side, depth + work.stock)
            settle(connection, side)
            with meter.measure() as cost:
                pgbench.run(url, side.script(work), work.clients, work.transactions)
            empty(connection, side)
            per_message = cost.cpu_seconds / work.handled * 1e6
            base = base or per_message
            lines.append(
                f"{side.name:<10} {depth:>10,} waiting  {per_message:8.1f} us/message  {per_message / base:.2f}x"
            )
            say(lines[-1])
    return lines


def measure_old_snapshot(
    connection: psycopg.Connection, url: str, seconds: float, say: Callable[[str], None]
) -> list[str]:
    """Steady sends and drains while a snapshot is held: the speed of the last third against that of the first."""
    lines = []
    for side in SIDES:
        with psycopg.connect(url) as holder:
            holder.execute("set transaction isolation level repeatable read")
            holder.execute("select 1")
            speeds = [_steady(connection, url, side, seconds / 3) for _ in range(3)]
        empty(connection, side)
        first, last = speeds[0], speeds[2]
        lines.append(f"{side.name:<10} first third {first:8,.0f}/s  last third {last:8,.0f}/s  {last / first:.2f}x")
        say(lines[-1])
    return lines


def _steady(connection: psycopg.Connection, url: str, side: Side, seconds: float) -> float:
    """Messages per second through the queue, a thousand in and a thousand out at a time."""
    work = replace(DRAIN_TEN, messages=1_000)
    started, handled = time.monotonic(), 0
    while time.monotonic() - started < seconds:
        fill(connection, side, work.stock)
        pgbench.run(url, side.script(work), work.clients, work.transactions)
        handled += work.handled
    return handled / (time.monotonic() - started)
