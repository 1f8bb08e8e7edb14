"""Pages of one person's access: the role for all queues, the grants, and the queues that they show."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console.access import roles, suggestions
from console.access.grants import grants
from console.access.grants.models import Grant
from console.access.people import find
from console.access.roles import ROLES, requires
from console.web.forms.fields import reason_field, refuse, suggest
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange
from queues.errors import InvalidArgument
from queues.models import Queue
from queues.reach import EVERYTHING, Reach

MAX_SHOWN = 20
COLUMNS: Columns[Grant] = {
    "role": lambda grant: grant.role,
    "tenant": lambda grant: grant.tenant_name,
    "queues": lambda grant: grant.queue_prefix,
    "since": lambda grant: grant.created_at,
    "by": lambda grant: grant.created_by,
}


class GrantForm(forms.Form):
    """A role for a tenant's queues, for queues with a name prefix, or for both together."""

    role = forms.ChoiceField(choices=[(role, role) for role in ROLES])
    tenant = forms.CharField(
        required=False,
        max_length=100,
        help_text="Empty: any tenant.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    prefix = forms.CharField(
        label="Queue names begin with",
        required=False,
        max_length=100,
        help_text="Empty: every queue of the tenant.",
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    reason = reason_field()


@dataclass(frozen=True)
class Sight:
    """The queues that a person sees with the current grants, or with one more; the first by name, without DLQs."""

    reach: Reach
    queues: list[str]
    more: bool


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def browse(request: HttpRequest, person_id: int) -> HttpResponse:
    """GET /people/<id>/grants: show the effective access. POST: add a grant, or preview it."""
    person = find(person_id)
    form = GrantForm(request.POST if request.method == "POST" else None)
    suggest(form, tenant=suggestions.tenant_names(request), prefix=suggestions.queue_names(request))
    proposed = None
    if form.is_valid():
        given = form.cleaned_data
        try:
            if "preview" not in request.POST:
                return _give(request, person, form)
            proposed = grants.checked(given["role"], given["tenant"], given["prefix"])
        except InvalidArgument as error:
            refuse(form, error)
    held = roles.reach(person, "see_metadata")
    given_now = arrange(request, person.grants.order_by("grant_id"), COLUMNS)  # type: ignore[attr-defined]
    context = {
        "title": f"Grants of {person.get_username()}",
        "person": person,
        "is_self": person == request.user,
        "everywhere": roles.may(person, "see_metadata"),
        "said": roles.role_of(person),
        "grants": given_now.rows,
        "sort": given_now.links,
        "now": _sight(held),
        "then": _sight(Reach.of([*held.bounds, proposed])) if proposed else None,
        "proposed": proposed,
        "form": form,
    }
    return render_page(request, "access/people/grants.html", "access/people/_grants.html", context)


@require_POST
@requires("administer")
def take(request: HttpRequest, grant_id: int) -> HttpResponse:
    """POST /grants/<id>/take: revoke the grant."""
    found = Grant.objects.filter(pk=grant_id).first()
    try:
        taken = grants.take(grant_id, actor=request.user.get_username(), reason=request.POST.get("reason", "")[:500])
        if taken is None:
            messages.warning(request, "Nothing was changed: there is no such grant.")
        else:
            messages.success(request, f"{taken.person.get_username()} is no longer {taken}.")
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed: {error}.")
    return redirect("grants", found.person_id) if found else redirect("people")


def _give(request: HttpRequest, person: User, form: GrantForm) -> HttpResponse:
    given = grants.give(person, actor=request.user.get_username(), **form.cleaned_data)
    messages.success(request, f"{person.get_username()} is {given} from now on.")
    return redirect("grants", person.pk)


def _sight(reach: Reach) -> Sight:
    seen = EVERYTHING if reach.is_everything else reach
    found = Queue.objects.filter(seen.among(), is_dead_letter_queue=False).order_by("name")
    names = list(found.values_list("name", flat=True)[: MAX_SHOWN + 1])
    return Sight(reach, names[:MAX_SHOWN], len(names) > MAX_SHOWN)
