"""Other cells on the overview: their sums, and what each holds of a queue. One cell alone costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from console.access.roles import is_scoped
from console.fleet.presence import is_fleet
from console.fleet.totals import Totals, total
from queues.fleet.readings import Reading, read_fleet


@dataclass(frozen=True)
class Held:
    """The messages of a queue that wait in one cell: ready, scheduled, or waiting for their message group."""

    cell: str
    waiting: int
    is_silent: bool
    age_seconds: float | None


@dataclass(frozen=True)
class Beside:
    """The cells, and their sums for people who see all queues."""

    readings: Sequence[Reading]
    totals: Totals | None

    @property
    def answering(self) -> int:
        return sum(not reading.is_silent for reading in self.readings)

    def of_queue(self, name: str) -> list[Held]:
        """List the cells that hold a part of a placed queue."""
        return [
            Held(reading.cell.name, held.waiting, reading.is_silent, reading.age_seconds)
            for reading in self.readings
            if (held := reading.by_queue.get(name))
        ]


def read(request: HttpRequest) -> Beside | None:
    """Read the cells; None if the installation has one cell."""
    if not is_fleet(request):
        return None
    readings = read_fleet()
    return Beside(readings, None if is_scoped(request.user) else total(readings))
