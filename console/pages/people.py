"""People and their roles: who may log in, and what they may do."""

from __future__ import annotations

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from console import ending, roles
from console.forms import NewPersonForm, PersonForm
from console.htmx import render_page
from console.roles import requires
from queues import audit

MOST_PEOPLE = 500


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /people: everybody with their role. POST: one person more."""
    form = NewPersonForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        person = _create(request, form)
        messages.success(request, f"{person.get_username()} may log in now, {_as(form.cleaned_data['role'])}.")
        return redirect("people")
    elsewhere = SocialAccount.objects.filter(user_id=OuterRef("pk"), provider=settings.OIDC_ISSUER)
    everybody = get_user_model().objects.annotate(signs_on=Exists(elsewhere)).prefetch_related("groups", "grants")
    context = {
        "title": "People",
        "people": [(one, _role(one)) for one in everybody.order_by("-is_active", "username")[:MOST_PEOPLE]],
        "roles": list(roles.ROLES),
        "form": form,
    }
    status = 422 if form.errors else 200
    return render_page(request, "people/browse.html", "people/_list.html", context, status=status)


@transaction.atomic
def _create(request: HttpRequest, form: NewPersonForm) -> User:
    given = form.cleaned_data
    person = get_user_model().objects.create_user(given["username"], password=given["password"])
    _put_into(person, given["role"])
    details = {"person": person.get_username(), "role": given["role"]}
    audit.record(request.user.get_username(), "person.create", details=details)
    return person


@require_POST
@requires("administer")
def change(request: HttpRequest, person_id: int) -> HttpResponse:
    """POST /people/<id>: another role, or no way in. Nobody can lock themselves out."""
    person = get_user_model().objects.filter(pk=person_id).first()
    form = PersonForm(request.POST)
    if person is None:
        raise Http404("There is no such person.")
    if person == request.user:
        messages.error(request, "Nothing was changed: somebody else has to change your own role.")
    elif person.is_superuser and not request.user.is_superuser:
        messages.error(request, "Nothing was changed: only a superuser changes a superuser.")
    elif not form.is_valid():
        messages.error(request, "Nothing was changed: choose one of the roles.")
    else:
        _change(request, person, form)
        messages.success(request, f"Changed {person.get_username()}.")
    return redirect("people")


@transaction.atomic
def _change(request: HttpRequest, person: User, form: PersonForm) -> None:
    role, active = form.cleaned_data["role"], form.cleaned_data["active"]
    before = {"role": _role(person), "active": person.is_active}
    _put_into(person, role)
    person.is_active = active
    person.save(update_fields=["is_active"])
    if not active:
        ending.end_sessions(person)  # else they would go on where they were as soon as the person is let in again
    after = {"role": role, "active": active}
    changes = {name: {"before": before[name], "after": after[name]} for name in after if before[name] != after[name]}
    details = {"person": person.get_username(), "changes": changes}
    audit.record(request.user.get_username(), "person.change", details=details)


def _put_into(person: User, role: str) -> None:
    """Give a role for all queues, or none: then the person has what is granted."""
    person.groups.set(Group.objects.filter(name=role) if role else [])


def _as(role: str) -> str:
    return f"as {role}" if role else "and sees nothing until a role is granted"


def _role(person: User) -> str:
    """The name of the role by group, as it stands in the form; a superuser may do everything anyway."""
    names = {group.name for group in person.groups.all()}
    return next((role for role in reversed(roles.ROLES) if role in names), "")
