"""Creation, pause, list and end of subscriptions for the API, within the key's reach."""

from __future__ import annotations

from typing import Any

from console.access.api_keys import Key
from console.api.subscriptions.shapes import NewSubscription, SubscriptionDocument
from dlq.filters import parse
from dlq.masking.rules import Masking
from queues.control import subscriptions as control
from queues.messages import client
from queues.models import Queue
from signalbox.calls.subscriptions import Subscription


def listed(key: Key, source: str | None) -> dict[str, Any]:
    """Return the subscriptions whose both ends the key reaches."""
    tenants = dict(Queue.objects.values_list("name", "tenant__name"))
    reached = [
        document(one)
        for one in client().list_subscriptions(source)
        if all(key.reaches(name, tenants.get(name, "")) for name in (one.source, one.target))
    ]
    return {"subscriptions": reached}


def subscribe(key: Key, source: str, target: str, wanted: NewSubscription) -> tuple[int, dict[str, Any]]:
    """Make a subscription: 201, or 200 if it exists. Refuses a filter that asks for masked values."""
    Masking().check(parse(wanted.filter), source)
    known = control.read_feed(source, target) is not None
    delay = wanted.delay_seconds
    control.subscribe(source, target, filter_text=wanted.filter, delay_seconds=delay, actor=key.actor)
    (made,) = [one for one in client().list_subscriptions(source) if one.target == target]
    return (200 if known else 201), document(made)


def pause(key: Key, source: str, target: str, paused: bool) -> bool:
    """Pause or resume a subscription; returns whether that changed it."""
    return control.pause(source, target, paused, actor=key.actor)


def unsubscribe(key: Key, source: str, target: str, discard: bool) -> bool:
    """End a subscription; returns whether there was one."""
    return control.unsubscribe(source, target, actor=key.actor, reason="", discard=discard)


def document(one: Subscription) -> dict[str, Any]:
    """Return a subscription as a document."""
    return SubscriptionDocument.of(one, subscription_id=f"sub_{one.id}")
