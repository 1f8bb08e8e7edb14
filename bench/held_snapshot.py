"""Benchmark under an old snapshot: an open transaction keeps every dead row, and claims must not read past them."""

from collections.abc import Callable

from bench import pgbench
from bench.comparison import Arena, Results
from bench.scenarios import FAIR, LANES, PRIORITIES, SIGNALBOX, TEXTBOOK, Scenario
from bench.server import ScratchServer

THIRDS = ("first third", "second third", "last third")
SIDES = (TEXTBOOK, SIGNALBOX, PRIORITIES, LANES, FAIR)


def measure_held_snapshot(
    server: ScratchServer, arena: Arena, seconds: int, progress: Callable[[str], None]
) -> Results:
    """Steady load (send one, claim one, acknowledge it) under one snapshot, measured in three equal parts."""
    scenarios = [Scenario(name, "steady", batch=1, clients=8, messages=0) for name in THIRDS]
    results: Results = {scenario: {} for scenario in scenarios}
    for side in SIDES:
        arena.prepare(side, scenarios[0].stock)
        with server.connect() as holder, holder.transaction():
            holder.execute("set transaction isolation level repeatable read")
            holder.execute("select txid_current()")
            for scenario in scenarios:
                progress(f"held snapshot: {scenario.name}, {side.name}")
                part = max(1, seconds // len(scenarios))
                with arena.meter.measure() as cost:
                    handled = pgbench.run_seconds(arena.url, side.script(scenario), scenario.clients, part)
                results[scenario][side] = [arena.sample(side, handled, cost.seconds, cost)]
        arena.empty(side)
    return results
