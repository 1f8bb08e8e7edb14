"""Two messages side by side: two that died, or one that died and the last success of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import roles
from console.comparison import Part, compare_documents, compare_texts
from console.frame import Frame
from console.message_story import body_of
from console.roles import requires
from dlq.comparing import Success, last_success
from dlq.masking import Rules
from dlq.masking_rules import Masking
from queues.models import DeadLetter, Queue

LARGE = "Its payload is large and kept elsewhere: download it from the page of the message."


@dataclass(frozen=True)
class Side:
    """One of the two: facts that everybody may see, and what is masked from some."""

    message_id: int
    queue: str
    outcome: str
    at: datetime
    sent_at: datetime | None
    group_id: str | None
    consumer: str | None
    deliveries: int | None = None
    cause: str = ""
    fingerprint: str = ""
    payload: Any = None
    attributes: Any = None
    error: str | None = None
    details: str | None = None
    unseen: str = ""
    """Why its payload is not compared here."""


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /dead-letters/compare?id=&id= or ?id=&with=success: by message id."""
    asked = [int(one) for one in request.GET.getlist("id") if one.isascii() and one.isdigit() and len(one) < 19][:3]
    with_success = request.GET.get("with") == "success"
    reached = roles.reach(request.user, "see_metadata").among("source__name", "source__tenant__name")
    letters = {one.message_id: one for one in DeadLetter.objects.filter(reached, message_id__in=asked)}
    found = [letters[one] for one in dict.fromkeys(asked) if one in letters]
    sides, notice = _sides(found, with_success)
    masking = Masking()
    holders = Queue.objects.filter(pk__in=[one.queue_id for one in found]).values_list("name", flat=True)
    sides = [_concealed(one, masking.of_letters(one.queue, *holders)) for one in sides]
    see = roles.may_here(request, "see_payloads")
    context = {
        "title": "Compare",
        "frame": Frame(request),
        "asked": asked,
        "gone": [one for one in asked if one not in letters],
        "sides": sides,
        "notice": notice,
        "first": found[0] if found else None,
        "with_success": with_success,
        "parts": _parts(*sides) if len(sides) == 2 and see else [],
    }
    response = render(request, "clusters/compare.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _sides(found: Sequence[DeadLetter], with_success: bool) -> tuple[list[Side], str]:
    """Two, or fewer and the reason."""
    if not with_success:
        return [_dead(one) for one in found[:2]], "" if len(found) == 2 else "Two dead letters are compared at a time."
    if not found:
        return [], "A dead letter is compared with a success: say which."
    success = last_success(found[0])
    if success is None:
        return [_dead(found[0])], f"No message was acknowledged in {found[0].source_queue} as far as its history goes."
    return [_dead(found[0]), _done(found[0], success)], ""


def _concealed(side: Side, rules: Rules) -> Side:
    """With the mask over what is masked in its queue, and over what quotes that."""
    if not rules:
        return side
    view = rules.view(side.payload, side.attributes, complete=not side.unseen)
    return replace(
        side,
        payload=view.payload(side.payload),
        attributes=view.attributes(side.attributes),
        error=view.text(side.error),
        details=view.text(side.details),
    )


def _dead(letter: DeadLetter) -> Side:
    body = body_of(letter.source_id, letter.message_id)
    return Side(
        letter.message_id,
        letter.source_queue,
        "dead",
        letter.died_at,
        letter.sent_at,
        letter.group_id,
        letter.consumer,
        letter.receive_count,
        letter.error_class or letter.reason,
        letter.fingerprint,
        letter.payload,
        letter.attributes,
        letter.error,
        letter.details,
        LARGE if body and body.large else "",
    )


def _done(letter: DeadLetter, success: Success) -> Side:
    unseen = "" if success.kept else "Its payload is no longer kept: the log has dropped it."
    if success.large:
        unseen = LARGE
    return Side(
        success.message_id,
        letter.source_queue,
        "completed",
        success.settled_at,
        success.sent_at,
        success.group_id,
        success.consumer,
        payload=success.payload,
        attributes=success.attributes,
        unseen=unseen,
    )


def _parts(left: Side, right: Side) -> list[Part]:
    parts = []
    if not (left.unseen or right.unseen):
        parts.append(compare_documents("Payload", left.payload, right.payload))
    if left.attributes or right.attributes:
        parts.append(compare_documents("Attributes", left.attributes, right.attributes))
    if left.outcome == right.outcome:
        parts.append(compare_texts("Error", left.error, right.error))
        parts.append(compare_texts("Stack", left.details, right.details))
    return [part for part in parts if part.lines]
