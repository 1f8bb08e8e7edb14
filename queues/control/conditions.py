"""Conditions of the whole installation: whether it can be written, may lose messages, or is under maintenance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from queues.database.durability import MUST_BE_ON, READ_ONLY, Unsafe, judge
from queues.database.query import named_row, query_text
from queues.models import Maintenance

_QUERY = query_text("health/conditions")


@dataclass(frozen=True)
class Conditions:
    """The conditions of the installation at one moment."""

    read_only: bool = False
    """Nothing can be written: the database is a standby, or a setting makes it read-only."""
    unsafe: Sequence[Unsafe] = ()
    maintenance: Maintenance | None = None
    clock_ahead_seconds: float = 0.0
    has_other_cells: bool = False
    """The directory of the fleet has a second cell."""


def read_conditions() -> Conditions:
    """Read the conditions with one query."""
    row = named_row(_QUERY, {"names": [*MUST_BE_ON, READ_ONLY]})
    settings, ahead, others = (row.pop(name) for name in ("settings", "clock_ahead_seconds", "has_other_cells"))
    settings = json.loads(settings) if isinstance(settings, str) else settings
    maintenance = Maintenance(**row) if row["started_by"] else None
    return Conditions(settings.get(READ_ONLY) == "on", judge(settings), maintenance, ahead, others)
