"""/v1/queues/{queue}:purge-plan, :purge and /v1/purges: a preview, then its purge. Each call uses a thread."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from ninja import Path, Router

from console.api.core.authentication import ApiKey
from console.api.core.database import in_thread
from console.api.core.idempotency import once_in_thread
from console.api.core.responses import answer
from console.api.purges import purging
from console.api.purges.shapes import Look, NewPurge, PurgeJob, PurgePlan
from console.api.queues.known_queues import reached_queue
from console.api.redrives.reach import number_of

router = Router(tags=["purges"], by_alias=True)


@router.post("/queues/{segment:queue}:purge-plan", auth=ApiKey("purge"), response={200: PurgePlan})
async def plan(request: Any, queue: Path[str], wanted: Look | None = None) -> HttpResponse:
    """Preview a purge: count the messages that it would remove."""
    await reached_queue(request.auth, queue)
    return answer(200, await in_thread(purging.plan, request.auth, queue, wanted.states if wanted else None))


@router.post("/queues/{segment:queue}:purge", auth=ApiKey("purge"), response={202: PurgeJob})
async def purge(request: Any, queue: Path[str], wanted: NewPurge) -> HttpResponse:
    """Remove the messages that a plan counted; later messages stay."""
    await reached_queue(request.auth, queue)
    return await once_in_thread(request, _started, purging.start, request.auth, queue, wanted)


def _started(job: dict[str, Any]) -> HttpResponse:
    return answer(202, job, {"Location": f"/v1/purges/{job['purgeId']}"})


@router.get("/purges/{segment:purge_id}", auth=ApiKey("purge"), response={200: PurgeJob})
async def show(request: Any, purge_id: Path[str]) -> HttpResponse:
    """Show the progress of a purge."""
    return answer(200, await in_thread(purging.show, request.auth, number_of(purge_id, purging.NAME)))


@router.post("/purges/{segment:purge_id}:cancel", auth=ApiKey("purge"), response={200: PurgeJob})
async def cancel(request: Any, purge_id: Path[str]) -> HttpResponse:
    """Stop after the current batch; purged messages can be restored from the trash."""
    return answer(200, await in_thread(purging.cancel, request.auth, number_of(purge_id, purging.NAME)))
