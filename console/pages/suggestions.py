"""What the filter bar offers while somebody types."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console import roles
from console.filterbar import kept_for
from console.roles import requires
from console.subjects import QUEUE
from dlq.browse import State
from dlq.export_rows import TARGETS
from dlq.filters import MAX_CHARACTERS, FilterError, Target
from dlq.filters.scanner import Scanner
from dlq.masking_rules import Masking
from dlq.saved_filters import SavedFilter
from dlq.suggesting import Place, Suggestion, suggest
from queues.models import Queue
from queues.reach import NOTHING

MOST_SAVED = 6


@require_safe
@requires("see_metadata", in_part=True)
def show(request: HttpRequest) -> HttpResponse:
    """GET /filter-suggestions?q=&at=: what may stand before `at`; of dead letters, or of `queue` in `state`."""
    text = request.GET.get("q", "")[: MAX_CHARACTERS + 1]
    cursor = _whole(request.GET.get("at", ""), len(text))
    place = _place(request)
    masking = Masking()
    masked = masking.everywhere() if place.queue_id is None else masking.of(request.GET["queue"])
    offered = suggest(text, cursor, place, see_payloads=roles.may_here(request, "see_payloads"), masked=masked)
    context = {"suggestions": [*_saved(request, text, cursor, place), *offered]}
    response = render(request, "components/_options.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _place(request: HttpRequest) -> Place:
    reach = roles.reach(request.user, "see_metadata")
    name, state = request.GET.get("queue", ""), request.GET.get("state", "")
    if not name or "\0" in name:
        return Place(reach=reach)
    if roles.is_scoped(request.user):  # of a queue beyond reach nothing is offered, as of one that is not there
        thing = QUEUE.find(name=name)
        if thing is None or not thing.is_within(reach):
            return Place(reach=NOTHING)
    queue_id = Queue.objects.filter(name=name).values_list("queue_id", flat=True).first()
    return Place(TARGETS[State(state) if state in set(State) else State.READY], queue_id, reach)


def _saved(request: HttpRequest, text: str, cursor: int, place: Place) -> list[Suggestion]:
    """Saved filters stand for a whole text: they are offered while only one word of it is there."""
    typed = text.strip().lower()
    if len(typed.split()) > 1 or ":" in typed or not _storable(typed):
        return []
    page = SavedFilter.Page.DEAD_LETTERS if place.target is Target.DEAD_LETTER else SavedFilter.Page.MESSAGES
    found = [one for one in kept_for(request, page) if typed in one.name.lower()][:MOST_SAVED]
    return [Suggestion(one.text, f"saved as {one.name}", 0, len(text)) for one in found]


def _storable(text: str) -> bool:
    try:
        Scanner(text)
    except FilterError:
        return False
    return True


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else otherwise
