"""Large bodies: too large for the database and for a page, so they are downloaded."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console import masked, message_story, queue_head, roles
from console.roles import requires
from console.subjects import QUEUE
from queues import bodies
from queues.errors import BodyCorrupt, BodyMissing
from signalbox.bodies import read_body


@require_safe
@requires("see_payloads", of=QUEUE)
def show(request: HttpRequest, name: str, message_id: int) -> HttpResponse:
    """GET /queues/<name>/messages/<id>/body: the whole payload as a file, if it is what its hash says."""
    head = queue_head.find(name)
    story = message_story.tell(head.numbers, message_id, roles.reach(request.user, "see_payloads"))
    body = story.body
    if body is None or body.large is None:
        raise Http404(f"Message {message_id} has no large body in {name}: it never had, or its retention is over.")
    try:
        content = read_body(body.large, bodies.store())
    except (BodyMissing, BodyCorrupt) as error:
        raise Http404(str(error)) from error
    return HttpResponse(
        masked.large_body(masked.rules_of(story), content),
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="message-{message_id}.json"',
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        },
    )
