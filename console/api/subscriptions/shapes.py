"""Subscriptions of queues on the wire."""

from __future__ import annotations

from pydantic import Field

from console.api.core.shape import Document, Shape, Text
from console.api.messages.shapes import DelaySeconds


class NewSubscription(Shape):
    """The queue that is sent a copy of each message, the filter that selects messages, and the delay of copies."""

    target: Text = Field(examples=["billing"])
    filter: str = Field(
        default="", max_length=2000, examples=["payload.total:>100"], description="Empty: all messages."
    )
    delay_seconds: DelaySeconds | None = Field(default=None, description="Null: the delay of the target.")


class SubscriptionChanges(Shape):
    """The new state of a subscription. A paused subscription holds its copies."""

    paused: bool


class SubscriptionListing(Shape):
    """The source to which a list is limited."""

    source: Text | None = None


class SubscriptionEnd(Shape):
    """The end of a subscription. One that holds copies ends only with `discard`, and the copies are lost."""

    discard: bool = Field(default=False, strict=False)


class SubscriptionDocument(Document):
    """A subscription of one queue to another. `held` counts the copies that wait, up to 10,001."""

    subscription_id: str
    source: str
    target: str
    filter: str
    delay_seconds: float | None
    paused: bool
    held: int
    oldest_held_at: str | None
    expired: int = Field(description="Copies that were held for longer than the target keeps messages.")


class Subscriptions(Document):
    """Subscriptions by source and target."""

    subscriptions: list[SubscriptionDocument]


class Change(Document):
    """The answer that says whether a call changed anything."""

    changed: bool
