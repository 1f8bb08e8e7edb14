"""Large bodies: too large for the database and for a page, so they are downloaded."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console import masked, message_story, queue_head
from console.roles import requires
from dlq.masking_rules import Masking
from queues import bodies
from queues.errors import BodyCorrupt, BodyMissing
from signalbox.bodies import read_body


@require_safe
@requires("see_payloads")
def show(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """GET /queues/<name>/messages/<id>/body: the whole payload as a file, if it is what its hash says."""
    head = queue_head.find(name)
    body = message_story.body_of(head.numbers.queue_id, message_id)
    if body is None or body.large is None:
        raise Http404(f"Message {message_id} has no large body in {name}: it never had, or its retention is over.")
    try:
        content = read_body(body.large, bodies.store())
    except (BodyMissing, BodyCorrupt) as error:
        raise Http404(str(error)) from error
    return HttpResponse(
        masked.large_body(Masking().of(name), content),
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="message-{message_id}.json"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )
