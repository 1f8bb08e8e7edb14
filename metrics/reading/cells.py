"""Cells of the fleet as this one sees them. Where no queue is placed on several cells, nothing is read.

The directory's home watches every cell, and every other cell watches the home: so each is reported once.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from queues import fleet
from queues.codes import AdmissionFlag
from queues.counters.queue_numbers import QueueNumbers
from queues.fleet import Directory, Move
from queues.fleet.balance import Limits
from queues.fleet.readings import Reading, read_fleet
from queues.fleet.rebalancing import balance

NO_PROPOSALS = Limits(moves=0)


@dataclass(frozen=True)
class Cells:
    """The watched cells by name, and the moves of the home."""

    answers: Mapping[str, bool] = field(default_factory=dict)
    behind: Mapping[str, int] = field(default_factory=dict)
    """Changes of the directory that the copy of a cell lacks; without silent cells."""
    peak_over_mean: float | None = None
    """The load of the busiest cell, as a share of the mean; None except in the home."""
    move_idle_seconds: float = 0.0
    """The longest time without progress of a move that is not paused."""

    @property
    def silent(self) -> list[str]:
        """List the watched cells that do not answer."""
        return sorted(name for name, answers in self.answers.items() if not answers)


def read_cells(queues: Iterable[QueueNumbers]) -> Cells:
    """Ask the cells that this one watches; takes at most the time of `queues.fleet.readings`."""
    is_placed = any(numbers.queue.admission_flags & AdmissionFlag.IS_PLACED for numbers in queues)
    here = fleet.directory() if is_placed else None
    return _seen_from(here, read_fleet()) if here else Cells()


def _seen_from(here: Directory, readings: Sequence[Reading]) -> Cells:
    watched = [
        reading for reading in readings if reading.cell.name != here.cell and (here.is_home or _is_home(here, reading))
    ]
    answers = {reading.cell.name: not reading.is_silent for reading in watched}
    if not here.is_home:
        return Cells(answers)
    moves = fleet.moves(active=True)
    behind = {
        reading.cell.name: max(0, here.version - reading.answer.version)
        for reading in watched
        if reading.answer and not reading.is_silent
    }
    peak = balance(readings, fleet.placements(), moves, NO_PROPOSALS).peak
    return Cells(answers, behind, peak, _idle_seconds(moves))


def _is_home(here: Directory, reading: Reading) -> bool:
    return reading.cell.name == here.home


def _idle_seconds(moves: Sequence[Move]) -> float:
    now = time.time()
    idle = [now - (move.looked_at or move.started_at).timestamp() for move in moves if not move.paused]
    return max(0.0, *idle) if idle else 0.0
