"""What one person may do: the role for all queues, the grants for some, and what they see with these."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console import roles
from console.grants import keeping
from console.grants.forms import GrantForm
from console.grants.keeping import Preview
from console.grants.models import Grant
from console.htmx import render_page
from console.roles import requires
from queues.errors import InvalidArgument
from queues.reach import EVERYTHING, Reach


@dataclass(frozen=True)
class Sight:
    """What a person sees with what they have, or with one grant more."""

    reach: Reach
    preview: Preview


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def browse(request: HttpRequest, person_id: int) -> HttpResponse:
    """GET /people/<id>/grants: what is granted, and what is seen with it. POST: one grant more, or its preview."""
    person = _find(person_id)
    form = GrantForm(request.POST if request.method == "POST" else None)
    proposed = None
    if request.method == "POST" and form.is_valid():
        try:
            if "preview" not in request.POST:
                return _given(request, person, form)
            proposed = keeping.checked(form.cleaned_data["role"], *_bounds(form))
        except InvalidArgument as error:
            form.add_error(error.field if error.field in form.fields else None, str(error))
    held = roles.reach(person, "see_metadata")
    context = {
        "title": f"Grants of {person.get_username()}",
        "person": person,
        "is_self": person == request.user,
        "everywhere": roles.may(person, "see_metadata"),
        "said": roles.role_of(person),
        "grants": list(person.grants.order_by("grant_id")),  # type: ignore[attr-defined]
        "now": _sight(held),
        "then": _sight(Reach.of([*held.bounds, proposed])) if proposed else None,
        "proposed": proposed,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render_page(request, "people/grants.html", "people/_grants.html", context, status=status)


@require_POST
@requires("administer")
def take(request: HttpRequest, grant_id: int) -> HttpResponse:
    """POST /grants/<id>/take: from the next page on that person does without it."""
    found = Grant.objects.filter(pk=grant_id).first()
    try:
        taken = keeping.take(grant_id, actor=request.user.get_username(), reason=request.POST.get("reason", "")[:500])
    except InvalidArgument as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        if taken is None:
            messages.warning(request, "Nothing was changed: there is no such grant.")
        else:
            messages.success(request, f"{taken.person.get_username()} is no longer {taken}.")
    return redirect("grants", found.person_id) if found else redirect("people")


def _given(request: HttpRequest, person: User, form: GrantForm) -> HttpResponse:
    tenant, prefix = _bounds(form)
    actor, reason = request.user.get_username(), form.cleaned_data["reason"]
    role = form.cleaned_data["role"]
    given = keeping.give(person, role, tenant=tenant, prefix=prefix, actor=actor, reason=reason)
    messages.success(request, f"{person.get_username()} is {given} from now on.")
    return redirect("grants", person.pk)


def _bounds(form: GrantForm) -> tuple[str | None, str]:
    return form.cleaned_data["tenant"] or None, form.cleaned_data["prefix"]


def _sight(reach: Reach) -> Sight:
    return Sight(reach, keeping.preview(EVERYTHING if reach.is_everything else reach))


def _find(person_id: int) -> User:
    person = User.objects.filter(pk=person_id).first()
    if person is None:
        raise Http404("There is no such person.")
    return person
