"""Saved filters: keeping the one in the bar, and the list in which they are renamed, shared and deleted."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_POST, require_safe

from console import roles
from console.filterbar import kept_for
from console.htmx import render_page
from console.roles import requires
from dlq import saved_filters
from dlq.filters import FilterError
from dlq.saved_filters import MOST_OF_ONE_OWNER, NAME_CHARACTERS, SavedFilter
from queues.errors import InvalidArgument


@require_safe
@requires("see_metadata", in_part=True)
def browse(request: HttpRequest) -> HttpResponse:
    """GET /saved-filters: one's own, and what others share."""
    person = request.user.get_username()
    administers = roles.may(request.user, "administer")
    kept = kept_for(request)
    context = {
        "title": "Saved filters",
        "kept": [(one, one.owner == person or (administers and one.shared)) for one in kept],
        "name_characters": NAME_CHARACTERS,
        "most": MOST_OF_ONE_OWNER,
    }
    return render_page(request, "saved_filters/browse.html", "saved_filters/_list.html", context)


@require_POST
@requires("see_metadata", in_part=True)
def save(request: HttpRequest) -> HttpResponse:
    """POST /saved-filters/new: keep a filter, then go back to its list with that filter in force."""
    given = request.POST
    try:
        kept = saved_filters.save(
            given.get("page", ""),
            given.get("name", ""),
            given.get("text", ""),
            owner=request.user.get_username(),
            shared="shared" in given,
        )
    except (InvalidArgument, FilterError) as error:
        messages.error(request, f"The filter was not saved. {error}")
        return HttpResponseRedirect(_back(request, given.get("text", "")))
    readers = "Everybody who may see this page finds it" if kept.shared else "You find it"
    messages.success(request, f"Saved this filter as {kept.name}. {readers} under Saved.")
    return HttpResponseRedirect(_back(request, kept.text))


@require_POST
@requires("see_metadata", in_part=True)
def change(request: HttpRequest, saved_filter_id: int) -> HttpResponse:
    """POST /saved-filters/<id>: another name, or other readers."""
    given = request.POST
    try:
        kept = saved_filters.change(
            saved_filter_id, name=given.get("name", ""), shared="shared" in given, **_actor(request)
        )
    except SavedFilter.DoesNotExist:
        raise Http404("There is no such filter, or it is somebody else's.") from None
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed. {error}")
    else:
        messages.success(request, f"Changed {kept.name}.")
    return redirect("saved_filters")


@require_POST
@requires("see_metadata", in_part=True)
def delete(request: HttpRequest, saved_filter_id: int) -> HttpResponse:
    """POST /saved-filters/<id>/delete: forget it."""
    try:
        kept = saved_filters.delete(saved_filter_id, **_actor(request))
    except SavedFilter.DoesNotExist:
        raise Http404("There is no such filter, or it is somebody else's.") from None
    messages.success(request, f"Deleted {kept.name}. It selected: {kept.text}")
    return redirect("saved_filters")


def _actor(request: HttpRequest) -> dict[str, object]:
    return {"actor": request.user.get_username(), "administers": roles.may(request.user, "administer")}


def _back(request: HttpRequest, text: str) -> str:
    """The list that the form names, filtered; an address that somebody forged leads to the dead letters."""
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
        back = reverse("dead_letters")
    path, _, query = back.partition("?")
    kept = [part for part in query.split("&") if part.startswith("state=")]
    return f"{path}?{'&'.join([*kept, urlencode({'q': text[:2_000]})])}"
