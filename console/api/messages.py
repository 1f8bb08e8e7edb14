"""/v1/queues/{queue}/messages: the verbs of the engine, one route for each."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Router

from console.api import database, deliveries, sending
from console.api.answers import answer, message_name, nothing
from console.api.authentication import ApiKey
from console.api.deliveries import own_handle
from console.api.known_queues import reached_queue
from console.api.leaving import unless_gone
from console.api.waiting import give_back, receive_waiting
from console.api.wire.messages import Ack, NewMessage, Receive, ReceivedMessages, Sent

MESSAGES = "/queues/{segment:queue}/messages"
DELIVERY = MESSAGES + "/{segment:receipt_handle}"

router = Router(tags=["messages"])


@router.post(MESSAGES, auth=ApiKey("send"), response={202: Sent})
async def send(request: Any, queue: Path[str], message: NewMessage) -> HttpResponse:
    """Send one message."""
    await reached_queue(request.auth, queue)
    message_id = await database.client().send(queue, message.body, **sending.options(message))
    return answer(202, {"messageId": message_name(message_id), "sequence": message_id})


@router.post(MESSAGES + ":receive", auth=ApiKey("receive"), response={200: ReceivedMessages})
async def receive(request: Any, queue: Path[str], wanted: Receive | None = None) -> HttpResponse:
    """Lease messages that are ready, or the first that come within `waitSeconds`."""
    wanted = wanted or Receive()
    await reached_queue(request.auth, queue)
    wish = (queue, wanted.max_messages, wanted.visibility_timeout_seconds, wanted.consumer or request.auth.actor)
    waiting = receive_waiting(*wish, wanted.wait_seconds)
    messages = await unless_gone(request, waiting, give_back) if wanted.wait_seconds else await waiting
    return answer(200, {"messages": await deliveries.documents(messages)})


@router.post(DELIVERY + ":ack", auth=ApiKey("receive"), response={204: None})
async def ack(request: Any, queue: Path[str], receipt_handle: Path[str], done: Ack | None = None) -> HttpResponse:
    """The message is done with."""
    handle = own_handle(await reached_queue(request.auth, queue), receipt_handle)
    if not await database.client().ack(handle, result=done.result if done else None):
        raise deliveries.lease_lost()
    return nothing()
