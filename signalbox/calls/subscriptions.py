"""Subscriptions of queues: each message of the source is sent to the target too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from signalbox import arguments
from signalbox.calls.call import Call, Row, only_value, statement
from signalbox.calls.request import Request, Requests, address, document, given, number_in


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription of one queue to another, with the copies that it could not send yet, counted up to 10,001."""

    id: int
    source: str
    target: str
    filter: str
    #: None: the delay_seconds of the target.
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
        _request_subscribe,
    )


def _request_subscribe(wanted: Mapping[str, Any]) -> Requests[int]:
    members = {name: given(wanted[name]) for name in ("target", "filter")}
    members["delaySeconds"] = given(wanted["delay_seconds"])
    answer = yield Request("POST", address("queues", wanted["source"], "subscriptions"), document(members))
    return number_in(answer.document["subscriptionId"])


def unsubscribe(source: str, target: str, discard: bool) -> Call[bool]:
    return Call(_UNSUBSCRIBE, {"source": source, "target": target, "discard": discard}, only_value, _request_end)


def _request_end(wanted: Mapping[str, Any]) -> Requests[bool]:
    query = "?discard=true" if wanted["discard"] else ""
    answer = yield Request("DELETE", _address(wanted) + query)
    return bool(answer.document["changed"])


def pause_subscription(source: str, target: str, paused: bool) -> Call[bool]:
    return Call(_PAUSE, {"source": source, "target": target, "paused": paused}, only_value, _request_pause)


def _request_pause(wanted: Mapping[str, Any]) -> Requests[bool]:
    answer = yield Request("PATCH", _address(wanted), document({"paused": given(wanted["paused"])}))
    return bool(answer.document["changed"])


def _address(ends: Mapping[str, Any]) -> str:
    return address("queues", ends["source"], "subscriptions", ends["target"])


def list_subscriptions(source: str | None) -> Call[list[Subscription]]:
    return Call(_LIST, {"source": source}, lambda rows: [_subscription(row) for row in rows], _request_list)


def _request_list(query: Mapping[str, Any]) -> Requests[list[Subscription]]:
    path = address("subscriptions")
    if query["source"] is not None:
        path += "?" + urlencode({"source": query["source"]})
    answer = yield Request("GET", path)
    return [_subscription_in(one) for one in answer.document["subscriptions"]]


def _subscription_in(wire: Mapping[str, Any]) -> Subscription:
    held_at = wire["oldestHeldAt"]
    return Subscription(
        id=number_in(wire["subscriptionId"]),
        source=wire["source"],
        target=wire["target"],
        filter=wire["filter"],
        delay_seconds=wire["delaySeconds"],
        paused=wire["paused"],
        held=wire["held"],
        oldest_held_at=None if held_at is None else datetime.fromisoformat(held_at).astimezone(UTC),
        expired=wire["expired"],
    )


def _subscription(row: Row) -> Subscription:
    number, source, target, text, delay_seconds, paused, held, oldest_held_at, expired = row
    oldest_held_at = oldest_held_at and oldest_held_at.astimezone(UTC)
    return Subscription(number, source, target, text, delay_seconds, paused, held, oldest_held_at, expired)
