"""Sums over cells, of all queues or of one queue. The numbers of two cells may be of different times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queues.fleet.readings import Reading


@dataclass(frozen=True)
class Totals:
    """Sums over the cells whose numbers are known; `silent` names the cells whose numbers are old or missing."""

    waiting: int
    in_flight: int
    dead: int
    sends_per_second: float
    receives_per_second: float
    silent: Sequence[str]


def total(readings: Sequence[Reading], queue: str | None = None) -> Totals:
    """Add up all queues, or one placed queue. A silent cell counts with its last known messages, and no traffic."""
    rows = [row for reading in readings if (row := _numbers(reading, queue))]
    silent = [reading.cell.name for reading in readings if reading.is_silent]
    return Totals(
        waiting=sum(row[0] for row in rows),
        in_flight=sum(row[1] for row in rows),
        dead=sum(row[2] for row in rows),
        sends_per_second=sum(row[3] for row in rows),
        receives_per_second=sum(row[4] for row in rows),
        silent=silent,
    )


def _numbers(reading: Reading, queue: str | None) -> tuple[int, int, int, float, float] | None:
    if reading.answer is None:
        return None
    if queue is None:
        load = reading.answer.load
        waiting, in_flight, dead = load.ready + load.waiting + load.scheduled, load.leased, load.dead
        sends, receives = load.sends_per_second, load.receives_per_second
    elif (held := reading.by_queue.get(queue)) is None:
        return None
    else:
        waiting, in_flight, dead = held.waiting, held.in_flight, held.dead
        sends, receives = held.sends_per_second, held.receives_per_second
    moving = 0.0 if reading.is_silent else 1.0
    return waiting, in_flight, dead, sends * moving, receives * moving
