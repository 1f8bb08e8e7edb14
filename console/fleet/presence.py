"""Presence of a fleet, from what every page reads anyway: an installation with one cell runs no statement for it."""

from __future__ import annotations

from django.http import HttpRequest

from console.overview import standings
from queues.codes import AdmissionFlag


def is_fleet(request: HttpRequest) -> bool:
    """Return whether a queue of this cell is placed."""
    return any(one.numbers.queue.admission_flags & AdmissionFlag.IS_PLACED for one in standings.snapshot().queues)
