"""Benchmark of growth: the cost of a claim by the number of waiting messages."""

from collections.abc import Callable, Sequence

from bench.comparison import Arena, Results
from bench.scenarios import SIGNALBOX, TEXTBOOK, Scenario

WAITING = (10_000, 1_000_000, 5_000_000)
DRAIN = Scenario("drain 1", "drain", batch=1, clients=4, messages=8_000)


def measure_growth(arena: Arena, waiting: Sequence[int], messages: int, progress: Callable[[str], None]) -> Results:
    """Drain `messages` with different numbers of waiting messages, once for each side; numbers name the scenarios."""
    results: Results = {}
    for stock in waiting:
        scenario = Scenario(f"{stock:,} waiting", "drain", batch=1, clients=DRAIN.clients, messages=messages)
        results[scenario] = {}
        for side in (TEXTBOOK, SIGNALBOX):
            progress(f"growth: {scenario.name}, {side.name}")
            arena.prepare(side, max(stock, scenario.stock))
            results[scenario][side] = [arena.run(side, scenario)]
            arena.empty(side)
    return results
