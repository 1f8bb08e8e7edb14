"""Presence of a fleet, from what every page reads anyway: an installation with one cell runs no statement for it."""

from __future__ import annotations

from django.http import HttpRequest

from console.overview import standings


def is_fleet(request: HttpRequest) -> bool:
    """Return whether the fleet has a second cell."""
    return standings.snapshot().conditions.has_other_cells
