"""What is known of a queue: its settings, and how many messages it has where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

QueueState = Literal["active", "paused", "closed"]

#: Where messages are: ready to be received, waiting for their lane, scheduled for later, leased, dead.
PLACES = ("ready", "waiting", "scheduled", "leased", "dead")


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue. `messages`, by place, and `oldest_visible_seconds` are there where they were asked for.

    They are exact at the moment of reading, whatever the number of messages.
    """

    id: int
    name: str
    tenant: str
    state: QueueState
    is_dead_letter_queue: bool
    settings: Mapping[str, Any]
    messages: Mapping[str, int] | None = None
    oldest_visible_seconds: float | None = None


def state_of(*, paused: bool, closed: bool) -> QueueState:
    """Paused counts before closed: what it hands out is what people ask about first."""
    return "paused" if paused else "closed" if closed else "active"
