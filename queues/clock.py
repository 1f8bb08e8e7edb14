"""The engine's clock (`queues/sql/clock_time.sql`): how far it is ahead of the server's, and putting it back.

Upkeep moves it forward with the server's clock, and nothing moves it back by itself. Where the server's clock was ahead
once and was set right, every lease, retry and delay lasts until the engine's clock is reached again, or is reset.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from queues import audit
from queues.errors import translated

TOLERATED_SECONDS = 5.0
"""A clock that is set back by so little, as by a time service, is caught up with before anybody has to do anything."""


@dataclass(frozen=True)
class ClockState:
    """How far the clock is ahead, and how many rows have a time that comes of it."""

    ahead_seconds: float
    ahead_until: datetime
    """Where the clock is, or was when it was reset."""
    ready: int
    waiting: int
    leased: int
    scheduled: int
    """Retries and delayed messages of which it is known when they were to be due."""
    unknown: int
    """Delayed messages of which it is not."""
    left: int = 0
    """Rows that a reset has left, since open transactions had them in their hands."""

    @property
    def is_ahead(self) -> bool:
        return self.ahead_seconds > TOLERATED_SECONDS


def ahead_seconds() -> float:
    """How far it is ahead; 0 while it is not. Costs nothing."""
    return float(_ask("select signalbox.clock_ahead_seconds()"))


def state(ahead_until: datetime | None = None) -> ClockState:
    """Read it; nothing is changed."""
    return _parsed(_ask("select signalbox.clock_state(%s)::text", ahead_until))


def reset(
    *, actor: str, reason: str = "", release_delayed: bool = False, ahead_until: datetime | None = None
) -> ClockState:
    """Put the clock back to the server's, with an audit row; returns what was found. Raises `InvalidArgument`."""
    with transaction.atomic(), translated():
        found = _ask("select signalbox.reset_clock(%s, %s)::text", release_delayed, ahead_until)
        audit.record(actor, "clock.reset", None, reason, {"release_delayed": release_delayed, **json.loads(found)})
    return _parsed(found)


def _parsed(text: str) -> ClockState:
    found: dict[str, Any] = json.loads(text)
    return ClockState(**found | {"ahead_until": datetime.fromisoformat(found["ahead_until"])})


def _ask(statement: str, *parameters: Any) -> Any:
    """Past Django's cursor, which would make errors of its own of the database's refusals."""
    connection.ensure_connection()
    row = connection.connection.execute(statement, parameters).fetchone()
    return row[0]
