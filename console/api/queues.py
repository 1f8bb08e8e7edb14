"""/v1/queues: the control plane. Each change is made, and recorded, as the console does it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Query, Router

from console.api import known_queues, queue_documents, queue_making
from console.api.answers import answer, nothing
from console.api.authentication import ApiKey
from console.api.database import in_thread
from console.api.idempotency import once_in_thread
from console.api.known_queues import queue_not_found, queue_of_its_own, reached_queue
from console.api.wire.queues import Changes, NewQueue, QueueDocument, QueueListing, QueuePage, QueueWithNumbers

QUEUE = "/queues/{segment:queue}"

router = Router(tags=["queues"], by_alias=True)


@router.post("/queues", auth=ApiKey("configure"), response={201: QueueDocument, 200: QueueDocument})
async def create_queue(request: Any, wanted: NewQueue) -> HttpResponse:  # type: ignore[valid-type]
    """Make a queue. The same again changes nothing and answers 200; with other settings it is refused."""
    return await once_in_thread(request, lambda made: answer(*made), queue_making.create, request.auth, wanted)


@router.get("/queues", auth=ApiKey("read"), response={200: QueuePage})
async def list_queues(request: Any, wanted: Query[QueueListing]) -> HttpResponse:
    """The queues that the key reaches, by name."""
    return answer(200, await in_thread(queue_documents.page, request.auth, wanted))


@router.get(QUEUE, auth=ApiKey("read"), response={200: QueueWithNumbers})
async def get_queue(request: Any, queue: Path[str]) -> HttpResponse:
    """A queue with its settings, and how many messages it has where."""
    found = await reached_queue(request.auth, queue)
    document = await in_thread(queue_documents.with_numbers, found.queue_id)
    if document is None:
        raise queue_not_found(queue)
    return answer(200, document)


@router.patch(QUEUE, auth=ApiKey("configure"), response={200: QueueDocument})
async def configure_queue(request: Any, queue: Path[str], changes: Changes) -> HttpResponse:  # type: ignore[valid-type]
    """Change the settings that are named, and leave the others."""
    await queue_of_its_own(request.auth, queue)
    return answer(200, await in_thread(queue_making.configure, request.auth, queue, changes))


@router.delete(QUEUE, auth=ApiKey("configure"), response={204: None})
async def delete_queue(request: Any, queue: Path[str]) -> HttpResponse:
    """Delete a queue that has no messages and that nothing uses."""
    await reached_queue(request.auth, queue)
    await in_thread(queue_making.delete, request.auth, queue)
    known_queues.forget(queue)
    return nothing()
