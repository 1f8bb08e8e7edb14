"""Benchmark of traffic with group ids: the cost of sharing a queue between its groups, beside not sharing it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from bench import pgbench
from bench.comparison import Arena, Results, Sample
from bench.scenarios import FAIR, FAIR_WITHOUT_GROUPS, GROUPED, LANES, SIGNALBOX, Scenario, Side
from bench.tables import ratio

SIDES = (SIGNALBOX, FAIR_WITHOUT_GROUPS, GROUPED, FAIR, LANES)
BACKLOG = 20_000
GROUPS = 100
SECONDS = 10
STEADY = Scenario("send one, claim one, ack it", "steady", batch=1, clients=8, messages=0)

LAY = """
select count(*) from signalbox.send_batch(
  %(queue)s, array_fill(jsonb '{}', array[%(messages)s::integer]),
  group_ids => case when %(grouped)s then array(
    select 'lane ' || n %% %(groups)s from generate_series(1, %(messages)s) n
  ) end
)
"""


def measure_grouped(arena: Arena, scale: float, rounds: int, progress: Callable[[str], None]) -> Results:
    """Steady load over a backlog, on queues that share their groups or do not; each round starts with another one."""
    results: Results = {STEADY: defaultdict(list)}
    for number in range(rounds):
        for place in range(len(SIDES)):
            side = SIDES[(number + place) % len(SIDES)]
            progress(f"grouped: round {number + 1} of {rounds}, {side.name}")
            results[STEADY][side].append(_measured(arena, side, max(1, int(SECONDS * scale))))
    return results


def _measured(arena: Arena, side: Side, seconds: int) -> Sample:
    arena.empty(side)
    given = {"queue": side.queue, "messages": BACKLOG // 2, "groups": GROUPS, "grouped": side.steady == "steady_lanes"}
    for _ in range(2):
        arena.connection.execute(LAY, given)
    arena.prepare_laid(side)
    with arena.meter.measure() as cost:
        handled = pgbench.run_seconds(arena.url, side.script(STEADY), STEADY.clients, seconds)
    sample = arena.sample(side, handled, cost.seconds, cost)
    arena.empty(side)
    return sample


def grouped_lines(results: Results) -> Iterator[str]:
    yield f"Message groups: {STEADY.name}, {BACKLOG:,} wait in {GROUPS} groups"
    yield f"{'':<42}{'messages/s':>12}{'x':>8}{'CPU us':>10}{'x':>8}{'WAL bytes':>12}{'x':>8}"
    for sides in results.values():
        base = Sample.median(sides[GROUPED])
        for side, samples in sides.items():
            sample = Sample.median(samples)
            yield (
                f"{side.name:<42}{sample.messages_per_second:>12,.0f}"
                f"{ratio(sample.messages_per_second, base.messages_per_second):>8}{sample.cpu_us:>10,.1f}"
                f"{ratio(sample.cpu_us, base.cpu_us):>8}{sample.wal_bytes:>12,.0f}"
                f"{ratio(sample.wal_bytes, base.wal_bytes):>8}"
            )
