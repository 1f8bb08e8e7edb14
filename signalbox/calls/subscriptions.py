"""Subscriptions of queues: each message of the source is sent to the target too. They need a database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from signalbox import arguments
from signalbox.calls.call import Call, Row, only_value, statement


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription of one queue to another, with the copies that it could not send yet, counted up to 10,001."""

    id: int
    source: str
    target: str
    filter: str
    #: None: as the setting of the target says.
    delay_seconds: float | None
    paused: bool
    held: int
    oldest_held_at: datetime | None
    #: Copies that were held for longer than the target keeps messages.
    expired: int


_SUBSCRIBE = statement("subscribe", "source text, target text, filter text, delay_seconds double precision")
_UNSUBSCRIBE = statement("unsubscribe", "source text, target text, discard boolean")
_PAUSE = statement("pause_subscription", "source text, target text, paused boolean")
_LIST = (
    "select subscription_id, source, target, filter, delay_seconds, paused, held, oldest_held_at, expired"
    " from signalbox.queue_subscriptions() where source = coalesce(%(source)s::text, source)"
)


def subscribe(source: str, target: str, filter: str, delay_seconds: float | None) -> Call[int]:
    delay_seconds = arguments.optional_seconds("delay_seconds", delay_seconds)
    filter = arguments.storable_text(filter) or ""
    return Call(
        _SUBSCRIBE,
        {"source": source, "target": target, "filter": filter, "delay_seconds": delay_seconds},
        only_value,
    )


def unsubscribe(source: str, target: str, discard: bool) -> Call[bool]:
    return Call(_UNSUBSCRIBE, {"source": source, "target": target, "discard": discard}, only_value)


def pause_subscription(source: str, target: str, paused: bool) -> Call[bool]:
    return Call(_PAUSE, {"source": source, "target": target, "paused": paused}, only_value)


def list_subscriptions(source: str | None) -> Call[list[Subscription]]:
    return Call(_LIST, {"source": source}, lambda rows: [_subscription(row) for row in rows])


def _subscription(row: Row) -> Subscription:
    number, source, target, text, delay_seconds, paused, held, oldest_held_at, expired = row
    oldest_held_at = oldest_held_at and oldest_held_at.astimezone(UTC)
    return Subscription(number, source, target, text, delay_seconds, paused, held, oldest_held_at, expired)
