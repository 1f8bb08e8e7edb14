"""/v1/queues/{queue}/messages: one route for each verb of the engine, under the verb's name."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponse
from ninja import Path, Router

from console.api.core import database, idempotency
from console.api.core.authentication import ApiKey, key_of
from console.api.core.disconnects import unless_gone
from console.api.core.responses import answer, moment, nothing
from console.api.messages import deliveries, sending, shapes
from console.api.queues.known_queues import queue_of_its_own, reached_queue
from console.api.waiting import shared_hub
from signalbox import AsyncClient

MESSAGES = "/queues/{segment:queue}/messages"
DELIVERY = MESSAGES + "/{segment:receipt_handle}"
MESSAGE = MESSAGES + "/{segment:message_id}"
ANY_MESSAGE = "/messages/{segment:message_id}"

router = Router(tags=["messages"], by_alias=True)


@router.post(MESSAGES, auth=ApiKey("send"), response={202: shapes.SentAlone})
async def send(request: Any, queue: Path[str], message: shapes.NewMessage) -> HttpResponse:
    await reached_queue(request.auth, queue)

    async def effect(client: AsyncClient) -> HttpResponse:
        if not message.count_group:
            return answer(202, sending.sent(await client.send(queue, message.body, **sending.options(message))))
        counted = await client.send_counted(queue, message.body, **sending.options(message))
        return answer(202, {**sending.sent(counted.id), "groupWaiting": counted.group_waiting})

    return await idempotency.once(request, effect)


@router.post(MESSAGES + ":batch", auth=ApiKey("send"), response={200: shapes.BatchResults})
async def send_each(request: Any, queue: Path[str], batch: shapes.Batch) -> HttpResponse:
    """Send a batch. With `atomic`, the call sends all messages or none."""
    await reached_queue(request.auth, queue)
    send_them = sending.send_all if batch.atomic else sending.send_each

    async def effect(client: AsyncClient) -> HttpResponse:
        return answer(200, {"results": await send_them(client, queue, batch.messages)})

    return await idempotency.once(request, effect)


@router.post(MESSAGES + ":receive", auth=ApiKey("receive"), response={200: shapes.ReceivedMessages})
async def receive(request: Any, queue: Path[str], wanted: shapes.Receive | None = None) -> HttpResponse:
    """Receive messages. If the queue is empty, the call waits up to `waitSeconds` for one."""
    wanted = wanted or shapes.Receive()
    found = await queue_of_its_own(request.auth, queue)
    wish = (queue, wanted.max_messages, wanted.visibility_timeout_seconds, wanted.consumer or request.auth.actor)
    wait_seconds = found.receive_wait_seconds if wanted.wait_seconds is None else wanted.wait_seconds
    receiving = shared_hub().receive(*wish, wait_seconds)
    if wait_seconds:
        request.measured.waits()
        messages = await unless_gone(request, receiving, shared_hub().give_back)
        authenticate = partial(key_of, request.META.get("HTTP_AUTHORIZATION"))
        await deliveries.check_still_received(authenticate, found, messages)
    else:
        messages = await receiving
    return answer(200, {"messages": await deliveries.documents(messages)})


@router.post(DELIVERY + ":ack", auth=ApiKey("receive"), response={204: None})
async def ack(
    request: Any, queue: Path[str], receipt_handle: Path[str], done: shapes.Ack | None = None
) -> HttpResponse:
    handle = deliveries.own_handle(await reached_queue(request.auth, queue), receipt_handle)
    if not await database.client().ack(handle, result=done.result if done else None):
        raise deliveries.lease_lost()
    return nothing()


@router.post(DELIVERY + ":nack", auth=ApiKey("receive"), response={204: None})
async def nack(
    request: Any, queue: Path[str], receipt_handle: Path[str], failure: shapes.Nack | None = None
) -> HttpResponse:
    """Record failed deliveries. The header Signalbox-Outcome says whether the message is delivered again or dead."""
    handle = deliveries.own_handle(await reached_queue(request.auth, queue), receipt_handle)
    outcome = await database.client().nack(handle, **deliveries.nack_options(failure or shapes.Nack()))
    if outcome is None:
        raise deliveries.lease_lost()
    return nothing({"Signalbox-Outcome": outcome})


@router.post(DELIVERY + ":defer", auth=ApiKey("receive"), response={204: None})
async def defer(request: Any, queue: Path[str], receipt_handle: Path[str], wanted: shapes.Defer) -> HttpResponse:
    """Put a message off, without a failure. The header Signalbox-Due-At says when it is delivered again."""
    handle = deliveries.own_handle(await reached_queue(request.auth, queue), receipt_handle)
    due_at = await database.client().defer(handle, wanted.delay_seconds, state=wanted.state)
    if due_at is None:
        raise deliveries.lease_lost()
    return nothing({"Signalbox-Due-At": moment(due_at) or ""})


@router.post(DELIVERY + ":change-visibility", auth=ApiKey("receive"), response={204: None})
async def change_visibility(
    request: Any, queue: Path[str], receipt_handle: Path[str], wanted: shapes.ChangeVisibility
) -> HttpResponse:
    """Change the end of a lease; 0 returns the message to the queue. The header Signalbox-Deadline has the end."""
    handle = deliveries.own_handle(await reached_queue(request.auth, queue), receipt_handle)
    deadline = await database.client().change_visibility(handle, wanted.visibility_timeout_seconds)
    if deadline is None:
        raise deliveries.lease_lost()
    return nothing({"Signalbox-Deadline": moment(deadline) or ""})


@router.post(MESSAGES + ":ack", auth=ApiKey("receive"), response={200: shapes.Settlements})
async def ack_batch(request: Any, queue: Path[str], done: shapes.AckBatch) -> HttpResponse:
    deliveries.check_results(done.receipt_handles, done.results)
    handles = deliveries.own_handles(await reached_queue(request.auth, queue), done.receipt_handles)
    held = await database.client().ack_batch(handles, results=done.results)
    return answer(200, {"results": deliveries.acked(handles, held)})


@router.post(MESSAGES + ":nack", auth=ApiKey("receive"), response={200: shapes.Settlements})
async def nack_batch(request: Any, queue: Path[str], failed: shapes.NackBatch) -> HttpResponse:
    handles = deliveries.own_handles(
        await reached_queue(request.auth, queue),
        [one.receipt_handle for one in failed.messages],
        "messages[{}].receiptHandle",
    )
    said = [deliveries.nack_options(one, f"messages[{place}].") for place, one in enumerate(failed.messages)]
    outcomes = await database.client().nack_batch(list(zip(handles, said, strict=True)))
    return answer(200, {"results": deliveries.nacked(handles, outcomes)})


@router.post(MESSAGES + ":defer", auth=ApiKey("receive"), response={200: shapes.Settlements})
async def defer_batch(request: Any, queue: Path[str], wanted: shapes.DeferBatch) -> HttpResponse:
    """Put messages off, each for its own delay, without a failure."""
    handles = deliveries.own_handles(
        await reached_queue(request.auth, queue),
        [one.receipt_handle for one in wanted.messages],
        "messages[{}].receiptHandle",
    )
    return answer(200, {"results": deliveries.deferred(handles, await deliveries.defer_all(handles, wanted.messages))})


@router.post(MESSAGES + ":change-visibility", auth=ApiKey("receive"), response={200: shapes.Settlements})
async def change_visibility_batch(request: Any, queue: Path[str], wanted: shapes.ChangeVisibilityBatch) -> HttpResponse:
    """Change the end of many leases; 0 returns the messages to the queue."""
    handles = deliveries.own_handles(await reached_queue(request.auth, queue), wanted.receipt_handles)
    deadlines = await database.client().change_visibility_batch(handles, wanted.visibility_timeout_seconds)
    return answer(200, {"results": deliveries.changed(handles, deadlines)})


@router.post(MESSAGES + ":ack-and-receive", auth=ApiKey("receive"), response={200: shapes.SettlementsAndMessages})
async def ack_and_receive(request: Any, queue: Path[str], wanted: shapes.AckAndReceive) -> HttpResponse:
    deliveries.check_results(wanted.receipt_handles, wanted.results)
    handles = deliveries.own_handles(await queue_of_its_own(request.auth, queue), wanted.receipt_handles)
    held, messages = await deliveries.ack_and_receive(queue, handles, wanted)
    return answer(200, {"results": deliveries.acked(handles, held), "messages": await deliveries.documents(messages)})


@router.get(MESSAGE, auth=ApiKey("read"), response={200: shapes.MessageOutcome})
async def message_outcome(request: Any, queue: Path[str], message_id: Path[str]) -> HttpResponse:
    found = await reached_queue(request.auth, queue)
    return answer(200, await deliveries.outcome_of(request.auth, message_id, found))


@router.get(ANY_MESSAGE, auth=ApiKey("read"), response={200: shapes.MessageOutcome})
async def message_outcome_anywhere(request: Any, message_id: Path[str]) -> HttpResponse:
    """Show the outcome of a message by its id. The key must reach the queue of the message."""
    return answer(200, await deliveries.outcome_of(request.auth, message_id))
