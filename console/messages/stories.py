"""Reading the story of one message for a page, within the rights of the person who asks."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest

from console.access import roles
from console.queues.head import QueueHead
from queues.messages.story import Story, read_story
from signalbox.payloads.binary import content_type_of


def known_story(request: HttpRequest, head: QueueHead, message_id: int, permission: str) -> Story:
    """Read the story of a message within the queues where the person has `permission`. Raises Http404 if unknown."""
    story = read_story(head.numbers, message_id, roles.reach(request.user, permission))
    if not story.known:
        raise Http404(f"Message {message_id} is not known in {head.name}: it never existed, or its retention ended.")
    return story


def of_payload(fields: Sequence[str]) -> list[str]:
    """Return the masked fields that are in the payload."""
    return [field for field in fields if field.split(".")[0] == "payload"]


def edit_denial(request: HttpRequest, story: Story, fields: list[str]) -> str:
    """Say why this person may not edit the payload; empty if they may. `fields` are its masked fields."""
    denial = roles.denial_here(request, "redrive") or roles.denial_here(request, "see_payloads")
    if denial:
        return denial
    if story.body is not None and story.body.large is not None:
        return "The payload is in the large-body store: it cannot be edited here."
    if story.body is not None and content_type_of(story.body.attributes) is not None:
        return "The payload is binary: it cannot be edited here."
    if fields and (denial := roles.denial_here(request, "reveal")):
        return f"The payload has masked fields: {', '.join(fields)}. {denial}"
    return ""
