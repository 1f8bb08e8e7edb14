"""/v1/queues/{queue}/messages: the engine's verbs, one route for each, under the names they have everywhere."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Router

from console.api import after_waiting, database, deliveries, idempotency, sending, settling
from console.api.answers import answer, moment, nothing
from console.api.authentication import ApiKey
from console.api.deliveries import own_handle, own_handles
from console.api.known_queues import queue_of_its_own, reached_queue
from console.api.leaving import unless_gone
from console.api.sending_all import send_all
from console.api.waiting import give_back, receive_waiting
from console.api.wire.messages import (
    Batch,
    BatchResults,
    MessageOutcome,
    NewMessage,
    Receive,
    ReceivedMessages,
    Sent,
)
from console.api.wire.settling import (
    Ack,
    AckAndReceive,
    AckBatch,
    ChangeVisibility,
    ChangeVisibilityBatch,
    Nack,
    NackBatch,
    Settlements,
    SettlementsAndMessages,
)
from signalbox import AsyncClient

MESSAGES = "/queues/{segment:queue}/messages"
DELIVERY = MESSAGES + "/{segment:receipt_handle}"
MESSAGE = MESSAGES + "/{segment:message_id}"
ANY_MESSAGE = "/messages/{segment:message_id}"

router = Router(tags=["messages"], by_alias=True)


@router.post(MESSAGES, auth=ApiKey("send"), response={202: Sent})
async def send(request: Any, queue: Path[str], message: NewMessage) -> HttpResponse:
    """Send one message."""
    await reached_queue(request.auth, queue)

    async def effect(client: AsyncClient) -> HttpResponse:
        return answer(202, sending.sent(await client.send(queue, message.body, **sending.options(message))))

    return await idempotency.once(request, effect)


@router.post(MESSAGES + ":batch", auth=ApiKey("send"), response={200: BatchResults})
async def send_each(request: Any, queue: Path[str], batch: Batch) -> HttpResponse:
    """Send many messages, each for itself: one that is refused keeps none of the others back, unless `atomic`."""
    await reached_queue(request.auth, queue)
    send_them = send_all if batch.atomic else sending.send_each

    async def effect(client: AsyncClient) -> HttpResponse:
        return answer(200, {"results": await send_them(client, queue, batch.messages)})

    return await idempotency.once(request, effect)


@router.post(MESSAGES + ":receive", auth=ApiKey("receive"), response={200: ReceivedMessages})
async def receive(request: Any, queue: Path[str], wanted: Receive | None = None) -> HttpResponse:
    """Lease messages that are ready, or the first that come within `waitSeconds`."""
    wanted = wanted or Receive()
    found = await queue_of_its_own(request.auth, queue)
    wish = (queue, wanted.max_messages, wanted.visibility_timeout_seconds, wanted.consumer or request.auth.actor)
    receiving = receive_waiting(*wish, wanted.wait_seconds)
    if wanted.wait_seconds:
        request.measured.waits()
        messages = await unless_gone(request, receiving, give_back)
        await after_waiting.check(request, found, messages)
    else:
        messages = await receiving
    return answer(200, {"messages": await deliveries.documents(messages)})


@router.post(DELIVERY + ":ack", auth=ApiKey("receive"), response={204: None})
async def ack(request: Any, queue: Path[str], receipt_handle: Path[str], done: Ack | None = None) -> HttpResponse:
    """The message is done with."""
    handle = own_handle(await reached_queue(request.auth, queue), receipt_handle)
    if not await database.client().ack(handle, result=done.result if done else None):
        raise deliveries.lease_lost()
    return nothing()


@router.post(DELIVERY + ":nack", auth=ApiKey("receive"), response={204: None})
async def nack(request: Any, queue: Path[str], receipt_handle: Path[str], failure: Nack | None = None) -> HttpResponse:
    """The delivery failed: the message is delivered again, or dead. The header Signalbox-Outcome says which."""
    handle = own_handle(await reached_queue(request.auth, queue), receipt_handle)
    outcome = await database.client().nack(handle, **settling.nack_options(failure or Nack()))
    if outcome is None:
        raise deliveries.lease_lost()
    return nothing({"Signalbox-Outcome": outcome})


@router.post(DELIVERY + ":change-visibility", auth=ApiKey("receive"), response={204: None})
async def change_visibility(
    request: Any, queue: Path[str], receipt_handle: Path[str], wanted: ChangeVisibility
) -> HttpResponse:
    """Keep the message longer, or give it back. The header Signalbox-Deadline says until when it is held now."""
    handle = own_handle(await reached_queue(request.auth, queue), receipt_handle)
    deadline = await database.client().change_visibility(handle, wanted.visibility_timeout_seconds)
    if deadline is None:
        raise deliveries.lease_lost()
    return nothing({"Signalbox-Deadline": moment(deadline) or ""})


@router.post(MESSAGES + ":ack", auth=ApiKey("receive"), response={200: Settlements})
async def ack_batch(request: Any, queue: Path[str], done: AckBatch) -> HttpResponse:
    """Many messages are done with."""
    settling.check_results(done.receipt_handles, done.results)
    handles = own_handles(await reached_queue(request.auth, queue), done.receipt_handles)
    held = await database.client().ack_batch(handles, results=done.results)
    return answer(200, {"results": settling.acked(handles, held)})


@router.post(MESSAGES + ":nack", auth=ApiKey("receive"), response={200: Settlements})
async def nack_batch(request: Any, queue: Path[str], failed: NackBatch) -> HttpResponse:
    """Many deliveries failed, each with what is said of it."""
    handles = own_handles(
        await reached_queue(request.auth, queue),
        [one.receipt_handle for one in failed.messages],
        "messages[{}].receiptHandle",
    )
    said = [settling.nack_options(one, f"messages[{place}].") for place, one in enumerate(failed.messages)]
    outcomes = await database.client().nack_batch(list(zip(handles, said, strict=True)))
    return answer(200, {"results": settling.nacked(handles, outcomes)})


@router.post(MESSAGES + ":change-visibility", auth=ApiKey("receive"), response={200: Settlements})
async def change_visibility_batch(request: Any, queue: Path[str], wanted: ChangeVisibilityBatch) -> HttpResponse:
    """Keep many messages longer, or give them back: a consumer's heartbeat."""
    handles = own_handles(await reached_queue(request.auth, queue), wanted.receipt_handles)
    deadlines = await database.client().change_visibility_batch(handles, wanted.visibility_timeout_seconds)
    return answer(200, {"results": settling.changed(handles, deadlines)})


@router.post(MESSAGES + ":ack-and-receive", auth=ApiKey("receive"), response={200: SettlementsAndMessages})
async def ack_and_receive(request: Any, queue: Path[str], wanted: AckAndReceive) -> HttpResponse:
    """Acknowledge messages and lease the next in one call and one commit: both or neither."""
    settling.check_results(wanted.receipt_handles, wanted.results)
    handles = own_handles(await queue_of_its_own(request.auth, queue), wanted.receipt_handles)
    held, messages = await deliveries.ack_and_receive(queue, handles, wanted)
    return answer(200, {"results": settling.acked(handles, held), "messages": await deliveries.documents(messages)})


@router.get(MESSAGE, auth=ApiKey("read"), response={200: MessageOutcome})
async def message_outcome(request: Any, queue: Path[str], message_id: Path[str]) -> HttpResponse:
    """Where one message stands, and how it ended."""
    found = await reached_queue(request.auth, queue)
    return answer(200, await deliveries.outcome_in(request.auth, found, message_id))


@router.get(ANY_MESSAGE, auth=ApiKey("read"), response={200: MessageOutcome})
async def message_outcome_anywhere(request: Any, message_id: Path[str]) -> HttpResponse:
    """The same of a message whose queue is not known, if the key reaches that."""
    return answer(200, await deliveries.outcome_for(request.auth, message_id))
