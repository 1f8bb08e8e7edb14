"""/v1/queues/{queue}/consumers: workers over HTTP say that they are there, as those in the database do."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Router

from console.api import database
from console.api.answers import nothing
from console.api.authentication import ApiKey
from console.api.known_queues import reached_queue
from console.api.problems import Problem
from console.api.wire.messages import Announcement
from signalbox.payloads import stored_bytes

DETAILS_BYTES = 16_384

router = Router(tags=["consumers"], by_alias=True)


@router.post("/queues/{segment:queue}/consumers", auth=ApiKey("receive"), response={204: None})
async def announce_consumer(request: Any, queue: Path[str], announced: Announcement) -> HttpResponse:
    """Say that a consumer is alive; about every ten seconds, since one unseen for a minute no longer counts."""
    await reached_queue(request.auth, queue)
    if (size := stored_bytes(announced.details)) > DETAILS_BYTES:
        raise Problem.of_field("details", f"details is {size} bytes of JSON: at most {DETAILS_BYTES}")
    await database.client().announce_consumer(queue, announced.consumer, announced.details)
    return nothing()
