"""/v1/queues/{queue}:redrive and /v1/redrives: dead letters are sent again. Calls are rare; each uses a thread."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Path, Router
from pydantic import Field

from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.idempotency import once_in_thread
from console.api.core.responses import answer
from console.api.queues.known_queues import reached_queue
from console.api.redrives import redriving
from console.api.redrives.reach import number_of
from console.api.redrives.shapes import NewRate, NewRedrive, RedriveJob, Redrives
from dlq.jobs.models import Job

router = Router(tags=["redrives"], by_alias=True)

Limit = Annotated[int, Field(ge=1, le=100)]
Cursor = Annotated[str, Field(pattern=r"^[0-9]{1,18}$")]
State = Literal[tuple(Job.State.values)]  # type: ignore[valid-type]


@router.post("/queues/{segment:queue}:redrive", auth=ApiKey("redrive"), response={202: RedriveJob})
async def redrive(request: Any, queue: Path[str], wanted: NewRedrive | None = None) -> HttpResponse:
    """Redrive the dead letters in this queue that the filter selects now."""
    wanted = wanted or NewRedrive()
    await reached_queue(request.auth, queue)
    if wanted.target_queue is not None:
        await reached_queue(request.auth, wanted.target_queue)
    return await once_in_thread(request, _started, redriving.start, request.auth, queue, wanted)


def _started(job: dict[str, Any]) -> HttpResponse:
    return answer(202, job, {"Location": f"/v1/redrives/{job['redriveId']}"})


@router.get("/redrives", auth=ApiKey("redrive"), response={200: Redrives})
async def browse(
    request: Any,
    queue: str | None = None,
    state: State | None = None,
    limit: Limit = 50,
    cursor: Cursor | None = None,
) -> HttpResponse:
    """List redrives, newest first; `queue` is a source queue, a dead-letter queue or a destination."""
    if queue is not None:
        await reached_queue(request.auth, queue)
    after = None if cursor is None else int(cursor)
    return answer(200, await in_thread(redriving.browse, request.auth, queue, state, limit, after))


@router.get("/redrives/{segment:redrive_id}", auth=ApiKey("redrive"), response={200: RedriveJob})
async def show(request: Any, redrive_id: Path[str]) -> HttpResponse:
    """Show the progress of a redrive, and the outcomes of its messages."""
    return answer(200, await in_thread(redriving.show, request.auth, number_of(redrive_id, redriving.NAME)))


@router.patch("/redrives/{segment:redrive_id}", auth=ApiKey("redrive"), response={200: RedriveJob})
async def set_rate(request: Any, redrive_id: Path[str], wanted: NewRate) -> HttpResponse:
    """Change the rate limit from the next batch on."""
    number = number_of(redrive_id, redriving.NAME)
    return answer(200, await in_thread(redriving.set_rate, request.auth, number, wanted.max_messages_per_second))


@router.post("/redrives/{segment:redrive_id}:pause", auth=ApiKey("redrive"), response={200: RedriveJob})
async def pause(request: Any, redrive_id: Path[str]) -> HttpResponse:
    """Pause the redrive after the current batch."""
    return await _change(request, redrive_id, "pause")


@router.post("/redrives/{segment:redrive_id}:resume", auth=ApiKey("redrive"), response={200: RedriveJob})
async def resume(request: Any, redrive_id: Path[str]) -> HttpResponse:
    """Resume a paused redrive."""
    return await _change(request, redrive_id, "resume")


@router.post("/redrives/{segment:redrive_id}:cancel", auth=ApiKey("redrive"), response={200: RedriveJob})
async def cancel(request: Any, redrive_id: Path[str]) -> HttpResponse:
    """Cancel the redrive. Messages that were not sent stay dead letters."""
    return await _change(request, redrive_id, "cancel")


async def _change(request: Any, redrive_id: str, verb: str) -> HttpResponse:
    number = number_of(redrive_id, redriving.NAME)
    return answer(200, await in_thread(redriving.change, request.auth, number, verb))
