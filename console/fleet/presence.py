"""Presence of a fleet. The answer is in data that every page reads, so an installation with one cell has no cost."""

from __future__ import annotations

from django.http import HttpRequest

from console.access.roles import is_scoped
from console.overview import standings


def is_fleet(request: HttpRequest) -> bool:
    """Return whether the fleet has a second cell."""
    return standings.snapshot().conditions.has_other_cells


def has_tab(request: HttpRequest) -> bool:
    """Return whether *Queues* has the tab *Fleet*: the page shows all queues, so not to people who see some only."""
    return is_fleet(request) and not is_scoped(request.user)
