"""/v1/queues: the control plane. Each change is made and audited as in the console."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Query, Router

from console.api.core import database
from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.idempotency import once_in_thread
from console.api.core.problems import Problem
from console.api.core.responses import answer, nothing
from console.api.messages.shapes import Announcement
from console.api.queues import configuring, known_queues
from console.api.queues.known_queues import queue_not_found, queue_of_its_own, reached_queue
from console.api.queues.shapes import Changes, NewQueue, QueueDocument, QueueListing, QueuePage, QueueWithNumbers
from signalbox.payloads.encoding import stored_bytes

DETAILS_BYTES = 16_384
QUEUE = "/queues/{segment:queue}"

router = Router(tags=["queues"], by_alias=True)


@router.post("/queues", auth=ApiKey("configure"), response={201: QueueDocument, 200: QueueDocument})
async def create_queue(request: Any, wanted: NewQueue) -> HttpResponse:  # type: ignore[valid-type]
    """Create a queue. A repetition with equal settings changes nothing and answers 200; other settings are refused."""
    return await once_in_thread(request, lambda made: answer(*made), configuring.create, request.auth, wanted)


@router.get("/queues", auth=ApiKey("read"), response={200: QueuePage})
async def list_queues(request: Any, wanted: Query[QueueListing]) -> HttpResponse:
    """List the queues that the API key reaches."""
    return answer(200, await in_thread(configuring.page, request.auth, wanted))


@router.get(QUEUE, auth=ApiKey("read"), response={200: QueueWithNumbers})
async def get_queue(request: Any, queue: Path[str]) -> HttpResponse:
    found = await reached_queue(request.auth, queue)
    document = await in_thread(configuring.with_numbers, found.queue_id)
    if document is None:
        raise queue_not_found(queue)
    return answer(200, document)


@router.patch(QUEUE, auth=ApiKey("configure"), response={200: QueueDocument})
async def configure_queue(request: Any, queue: Path[str], changes: Changes) -> HttpResponse:  # type: ignore[valid-type]
    await queue_of_its_own(request.auth, queue)
    return answer(200, await in_thread(configuring.configure, request.auth, queue, changes))


@router.delete(QUEUE, auth=ApiKey("configure"), response={204: None})
async def delete_queue(request: Any, queue: Path[str]) -> HttpResponse:
    """Delete a queue that has no messages and is not used."""
    await reached_queue(request.auth, queue)
    await in_thread(configuring.delete, request.auth, queue)
    known_queues.forget(queue)
    return nothing()


consumers = Router(tags=["consumers"], by_alias=True)


@consumers.post("/queues/{segment:queue}/consumers", auth=ApiKey("receive"), response={204: None})
async def announce_consumer(request: Any, queue: Path[str], announced: Announcement) -> HttpResponse:
    """Announce a live consumer. Repeat the call every ten seconds; after a minute the consumer counts as gone."""
    await reached_queue(request.auth, queue)
    if (size := stored_bytes(announced.details)) > DETAILS_BYTES:
        raise Problem.of_field("details", f"details is {size} bytes of JSON: at most {DETAILS_BYTES}")
    await database.client().announce_consumer(queue, announced.consumer, announced.details)
    return nothing()
