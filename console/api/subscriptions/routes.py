"""/v1/subscriptions and /v1/queues/{queue}/subscriptions: list, create, pause, resume and end subscriptions."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Query, Router

from console.access.api_keys import Key
from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.problems import Problem
from console.api.core.responses import answer
from console.api.queues.known_queues import KnownQueue, known_queue, reached_queue
from console.api.subscriptions import configuring, shapes

OF_QUEUE = "/queues/{segment:queue}/subscriptions"
ONE = f"{OF_QUEUE}/{{segment:target}}"

router = Router(tags=["subscriptions"], by_alias=True)


@router.get("/subscriptions", auth=ApiKey("read"), response={200: shapes.Subscriptions})
async def list_subscriptions(request: Any, wanted: Query[shapes.SubscriptionListing]) -> HttpResponse:
    """List the subscriptions of queues whose both ends the API key reaches."""
    return answer(200, await in_thread(configuring.listed, request.auth, wanted.source))


@router.post(
    OF_QUEUE, auth=ApiKey("configure"), response={201: shapes.SubscriptionDocument, 200: shapes.SubscriptionDocument}
)
async def subscribe(request: Any, queue: Path[str], wanted: shapes.NewSubscription) -> HttpResponse:
    """Send each message of the queue to the target too, in the transaction of the send. A repeated call sets the
    filter and the delay, and answers 200.
    """
    source = await reached_queue(request.auth, queue)
    target = await _target(request.auth, wanted.target)
    return answer(*await in_thread(configuring.subscribe, request.auth, source.name, target.name, wanted))


@router.patch(ONE, auth=ApiKey("configure"), response={200: shapes.Change})
async def pause_subscription(
    request: Any, queue: Path[str], target: Path[str], changes: shapes.SubscriptionChanges
) -> HttpResponse:
    """Pause or resume a subscription. A paused subscription holds its copies."""
    source, fed = await reached_queue(request.auth, queue), await _target(request.auth, target)
    changed = await in_thread(configuring.pause, request.auth, source.name, fed.name, changes.paused)
    return answer(200, {"changed": changed})


@router.delete(ONE, auth=ApiKey("configure"), response={200: shapes.Change})
async def unsubscribe(
    request: Any, queue: Path[str], target: Path[str], wanted: Query[shapes.SubscriptionEnd]
) -> HttpResponse:
    """End a subscription of one queue to another."""
    source, fed = await reached_queue(request.auth, queue), await _target(request.auth, target)
    ended = await in_thread(configuring.unsubscribe, request.auth, source.name, fed.name, wanted.discard)
    return answer(200, {"changed": ended})


async def _target(key: Key, name: str) -> KnownQueue:
    """Return the target of a subscription, if the key reaches it."""
    queue = await known_queue(name)
    if queue is None or not queue.is_reached_by(key):
        raise Problem.of_field("target", f"queue {name[:120]!r} does not exist", kind="queue-not-found")
    return queue
