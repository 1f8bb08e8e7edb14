"""Two messages side by side: two dead letters, or a dead letter and the last success of its kind.

What differs is marked, line by line. Text only, and bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.access import roles
from console.access.roles import requires
from console.messages import payloads
from console.web.layout import Frame
from dlq.masking.masks import Rules
from dlq.masking.rules import Masking
from queues.messages.last_success import Success, last_success
from queues.messages.story import body_of
from queues.models import DeadLetter, Queue

MAX_LINES = 400
MAX_LINE_CHARACTERS = 400
LARGE = "Its payload is large and kept elsewhere: download it from the page of the message."
DROPPED = "Its payload is no longer kept: the log has dropped it."


@dataclass(frozen=True)
class Side:
    """One side of the comparison: the facts of a message, and the parts that some readers see masked."""

    message: DeadLetter | Success
    queue: str
    payload: Any
    attributes: Any
    unseen: str
    """The reason why the payload is not compared here."""
    error: str | None = None
    details: str | None = None

    @property
    def is_dead(self) -> bool:
        return isinstance(self.message, DeadLetter)


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
    sides = [_concealed(one, masking.of_dead_letters(one.queue, *holders)) for one in sides]
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
    response = render(request, "dead_letters/failure_groups/compare.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _sides(found: Sequence[DeadLetter], with_success: bool) -> tuple[list[Side], str]:
    """Return two sides, or fewer with the reason."""
    dead = [_dead(one) for one in found[:2]]
    if not with_success:
        return dead, "" if len(found) == 2 else "Two dead letters are compared at a time."
    if not found:
        return [], "Select a dead letter to compare with the last success."
    queue, success = found[0].source_queue, last_success(found[0])
    if success is None:
        return dead[:1], f"No acknowledged message in the history of {queue}."
    unseen = LARGE if success.large else "" if success.kept else DROPPED
    return [dead[0], Side(success, queue, success.payload, success.attributes, unseen)], ""


def _concealed(side: Side, rules: Rules) -> Side:
    """Mask the masked fields of the queue, and each text that quotes them."""
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
    unseen = LARGE if body and body.large else ""
    return Side(letter, letter.source_queue, letter.payload, letter.attributes, unseen, letter.error, letter.details)


def _parts(left: Side, right: Side) -> list[Part]:
    parts = []
    if not (left.unseen or right.unseen):
        parts.append(compare_documents("Payload", left.payload, right.payload))
    if left.attributes or right.attributes:
        parts.append(compare_documents("Attributes", left.attributes, right.attributes))
    if left.is_dead and right.is_dead:
        parts.append(compare_texts("Error", left.error, right.error))
        parts.append(compare_texts("Stack", left.details, right.details))
    return [part for part in parts if part.lines]


@dataclass(frozen=True)
class Line:
    """One line of both sides; None where a side has none."""

    left: str | None
    right: str | None
    differs: bool


@dataclass(frozen=True)
class Part:
    """One part of two messages; `cut` if it is longer than the part that is compared."""

    title: str
    lines: Sequence[Line]
    cut: bool

    @property
    def same(self) -> bool:
        return not any(line.differs for line in self.lines)


def compare_documents(title: str, left: object, right: object) -> Part:
    """Compare two JSON documents, with sorted keys."""
    written = [None if one is None else payloads.pretty(one, sort_keys=True) for one in (left, right)]
    return compare_texts(title, *written)


def compare_texts(title: str, left: str | None, right: str | None) -> Part:
    """Compare two texts, line by line."""
    one, other = _lines(left), _lines(right)
    cut = max(len(one), len(other)) > MAX_LINES
    one, other = one[:MAX_LINES], other[:MAX_LINES]
    lines: list[Line] = []
    for kind, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        lines += [Line(*both, kind != "equal") for both in zip_longest(one[a:b], other[c:d])]
    return Part(title, lines, cut)


def _lines(text: str | None) -> list[str]:
    """Split a text into the lines that are compared, and a last line if there are more."""
    if text is None:
        return []
    lines = text.split("\n", MAX_LINES + 1)[: MAX_LINES + 1]
    return [
        line if len(line) <= MAX_LINE_CHARACTERS else line[: MAX_LINE_CHARACTERS - 1] + "…"
        for line in (one.rstrip("\r") for one in lines)
    ]
