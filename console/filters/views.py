"""Saved filters, in a list where they are renamed, shared and deleted; and suggestions while a person types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_POST, require_safe

from console.access import roles
from console.access.roles import requires
from console.access.subjects import QUEUE
from console.filters.filter_bar import kept_for
from console.web.forms.fields import refuse
from console.web.htmx import render_form, render_page
from console.web.sorting import Columns, arrange
from dlq.filters import MAX_CHARACTERS, FilterError, Target
from dlq.filters.scanner import Scanner
from dlq.masking.rules import Masking
from dlq.search import saved_filters, suggestions
from dlq.search.message_list import TARGETS
from dlq.search.samples import Place
from dlq.search.saved_filters import MAX_OF_ONE_OWNER, NAME_CHARACTERS, SavedFilter
from dlq.search.suggestions import Suggestion
from queues.errors import InvalidArgument
from queues.messages.lists import State
from queues.models import Queue
from queues.reach import NOTHING

MAX_SAVED = 6
COLUMNS: Columns[SavedFilter] = {
    "name": lambda kept: kept.name,
    "filter": lambda kept: kept.text,
    "list": lambda kept: kept.page,
    "owner": lambda kept: kept.owner,
}


class SavedFilterForm(forms.Form):
    """A filter to save, with its name and its readers."""

    page = forms.CharField(required=False, widget=forms.HiddenInput)
    next = forms.CharField(required=False, widget=forms.HiddenInput)
    text = forms.CharField(label="Filter", required=False, max_length=MAX_CHARACTERS)
    name = forms.CharField(required=False, max_length=NAME_CHARACTERS)
    shared = forms.BooleanField(label="For all users", required=False)


@dataclass(frozen=True)
class Refused:
    """A change of a saved filter that was refused, as it was typed."""

    saved_filter_id: int
    name: str
    shared: bool
    error: str


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /saved-filters: the filters of this person, and the shared ones of others."""
    return _browse(request)


def _browse(request: HttpRequest, refused: Refused | None = None) -> HttpResponse:
    """Render the list; a refused change stands in its row as it was typed."""
    person = request.user.get_username()
    administers = roles.may(request.user, "administer")
    kept = arrange(request, kept_for(request), COLUMNS)
    context = {
        "title": "Saved filters",
        "kept": [(one, one.owner == person or (administers and one.shared)) for one in kept.rows],
        "sort": kept.links,
        "name_characters": NAME_CHARACTERS,
        "most": MAX_OF_ONE_OWNER,
        "refused": refused,
        "mistake": refused,
    }
    return render_page(request, "filters/saved/browse.html", "filters/saved/_list.html", context)


@require_POST
@requires("see_metadata", in_part=True)
def save(request: HttpRequest) -> HttpResponse:
    """POST /saved-filters/new: save a filter, then return to its list with that filter in force.

    A refused filter comes back in a form, as it was typed.
    """
    form = SavedFilterForm(request.POST)
    form.is_valid()  # `saved_filters` judges, and says more
    given = form.data
    try:
        kept = saved_filters.save(
            given.get("page", ""),
            given.get("name", ""),
            given.get("text", ""),
            owner=request.user.get_username(),
            shared="shared" in given,
        )
    except (InvalidArgument, FilterError) as error:
        return _refuse(request, form, error)
    readers = "All users who may see this list find it" if kept.shared else "You find it"
    messages.success(request, f"Saved this filter as {kept.name}. {readers} under Saved.")
    return HttpResponseRedirect(_back(request, kept.text))


def _refuse(request: HttpRequest, form: SavedFilterForm, error: Exception) -> HttpResponse:
    form.errors.clear()
    if isinstance(error, FilterError):
        form.add_error("text", str(error))
    else:
        refuse(form, error)
    context = {"title": "Save filter", "form": form, "back_url": _back(request, form.data.get("text", ""))}
    return render_form(request, "filters/saved/new.html", context)


@require_POST
@requires("see_metadata", in_part=True)
def change(request: HttpRequest, saved_filter_id: int) -> HttpResponse:
    """POST /saved-filters/<id>: change the name or the readers."""
    name, shared = request.POST.get("name", ""), "shared" in request.POST
    try:
        kept = _own(saved_filters.change, request, saved_filter_id, name=name, shared=shared)
    except InvalidArgument as error:
        return _browse(request, Refused(saved_filter_id, name, shared, str(error)))
    messages.success(request, f"Changed {kept.name}.")
    return redirect("saved_filters")


@require_POST
@requires("see_metadata", in_part=True)
def delete(request: HttpRequest, saved_filter_id: int) -> HttpResponse:
    """POST /saved-filters/<id>/delete: delete a saved filter."""
    kept = _own(saved_filters.delete, request, saved_filter_id)
    messages.success(request, f"Deleted {kept.name}. It selected: {kept.text}")
    return redirect("saved_filters")


def _own(verb: Callable[..., SavedFilter], request: HttpRequest, saved_filter_id: int, **given: object) -> SavedFilter:
    """Change or delete a filter that the person may change or delete; raises Http404 for others."""
    actor, administers = request.user.get_username(), roles.may(request.user, "administer")
    try:
        return verb(saved_filter_id, actor=actor, administers=administers, **given)
    except SavedFilter.DoesNotExist:
        raise Http404("There is no such filter, or it belongs to another person.") from None


def _back(request: HttpRequest, text: str) -> str:
    """Return the filtered list that the form names; a forged address leads to the dead letters."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
        back = reverse("dead_letters")
    path, _, query = back.partition("?")
    kept = [part for part in query.split("&") if part.startswith("state=")]
    return f"{path}?{'&'.join([*kept, urlencode({'q': text[:2_000]})])}"


@require_safe
@requires("see_metadata", in_part=True)
def suggest(request: HttpRequest) -> HttpResponse:
    """GET /filter-suggestions?q=&at=: suggestions for the text before `at`, of dead letters or a queue's messages."""
    text = request.GET.get("q", "")[: MAX_CHARACTERS + 1]
    at = request.GET.get("at", "")
    cursor = int(at) if at.isascii() and at.isdigit() and len(at) < 6 else len(text)
    place = _place(request)
    masking = Masking()
    masked = masking.everywhere() if place.queue_id is None else masking.of(request.GET["queue"])
    offered = suggestions.suggest(
        text, cursor, place, see_payloads=roles.may_here(request, "see_payloads"), masked=masked
    )
    context = {"suggestions": [*_saved(request, text, cursor, place), *offered]}
    response = render(request, "filters/_options.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _place(request: HttpRequest) -> Place:
    reach = roles.reach(request.user, "see_metadata")
    name, state = request.GET.get("queue", ""), request.GET.get("state", "")
    if not name or "\0" in name:
        return Place(reach=reach)
    if roles.is_scoped(request.user):  # a hidden queue gets the same answer as a queue that does not exist
        thing = QUEUE.find(name=name)
        if thing is None or not thing.is_within(reach):
            return Place(reach=NOTHING)
    queue_id = Queue.objects.filter(name=name).values_list("queue_id", flat=True).first()
    return Place(TARGETS[State(state) if state in set(State) else State.READY], queue_id, reach)


def _saved(request: HttpRequest, text: str, cursor: int, place: Place) -> list[Suggestion]:
    """Offer saved filters, which replace the whole text, while the text is a single word."""
    typed = text.strip().lower()
    if len(typed.split()) > 1 or ":" in typed:
        return []
    try:
        Scanner(typed)
    except FilterError:  # no name of a filter has such characters
        return []
    page = SavedFilter.Page.DEAD_LETTERS if place.target is Target.DEAD_LETTER else SavedFilter.Page.MESSAGES
    found = [one for one in kept_for(request, page) if typed in one.name.lower()][:MAX_SAVED]
    return [Suggestion(one.text, f"saved as {one.name}", 0, len(text)) for one in found]
