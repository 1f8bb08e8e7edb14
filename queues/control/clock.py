"""The engine's clock (`queues/sql/clock/`): how far it is ahead of the server's clock, and how to reset it.

Upkeep moves it forward with the server's clock, and nothing moves it back by itself. After the server's clock was ahead
and has been corrected, no lease, retry or delay ends until the server's clock reaches the engine's, or a reset.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from queues import audit
from queues.database.query import verb_value

TOLERATED_SECONDS = 5.0
"""A lead that needs no reset: after a small correction by a time service the server's clock soon catches up."""


@dataclass(frozen=True)
class ClockState:
    """The lead of the clock, and how many rows have times from that clock."""

    ahead_seconds: float
    ahead_until: datetime
    """The clock's time now, or its time when it was reset."""
    ready: int
    waiting: int
    leased: int
    scheduled: int
    """Retries and delayed messages whose intended time is known."""
    unknown: int
    """Delayed messages whose intended time is not known."""
    left: int = 0
    """Rows that a reset did not change, because open transactions had locked them."""

    @property
    def is_ahead(self) -> bool:
        return self.ahead_seconds > TOLERATED_SECONDS


def ahead_seconds() -> float:
    """Read how far the clock is ahead; 0 while it is not. Reads no message."""
    return float(verb_value("select signalbox.clock_ahead_seconds()"))


def state(ahead_until: datetime | None = None) -> ClockState:
    """Read the state of the clock, or what a reset after `ahead_until` would find; changes nothing."""
    return _parsed(verb_value("select signalbox.clock_state(%s)::text", ahead_until))


def reset(
    *, actor: str, reason: str = "", release_delayed: bool = False, ahead_until: datetime | None = None
) -> ClockState:
    """Set the clock to the server's, with an audit row; returns the state before. Raises `InvalidArgument`."""
    with transaction.atomic():
        before = verb_value("select signalbox.reset_clock(%s, %s)::text", release_delayed, ahead_until)
        audit.record(actor, "clock.reset", None, reason, {"release_delayed": release_delayed, **json.loads(before)})
    return _parsed(before)


def _parsed(text: str) -> ClockState:
    fields: dict[str, Any] = json.loads(text)
    return ClockState(**fields | {"ahead_until": datetime.fromisoformat(fields["ahead_until"])})
