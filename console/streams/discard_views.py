"""The page of a discard: an action on a stream that waits for an approval, or had one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from console.access.roles import requires
from console.access.subjects import DISCARD
from console.redrives import jobs
from dlq.discards import discards
from dlq.discards.models import Discard


@require_safe
@requires("see_metadata", of=DISCARD)
def show(request: HttpRequest, discard_id: int) -> HttpResponse:
    """GET /discards/<id>: show what a discard will do, and its approval."""
    return jobs.show(request, jobs.find(Discard, discard_id), "streams/discards")


@require_POST
@requires("purge", of=DISCARD)
def cancel(request: HttpRequest, discard_id: int) -> HttpResponse:
    """POST /discards/<id>/cancel: withdraw a discard."""
    return jobs.cancel(request, Discard, discard_id, discards.cancel, "Nothing was changed.")
