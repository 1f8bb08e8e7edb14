"""The people who may log in, and their roles."""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.models import SocialAccount
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from console.access import sessions
from console.access.roles import ROLES, requires
from console.web.forms import refused
from console.web.forms.fields import password_field
from console.web.htmx import render_page
from console.web.sorting import Columns, arrange
from queues import audit

MAX_PEOPLE = 500
NO_ROLE = "No global role"
COLUMNS: Columns[tuple[User, str]] = {
    "name": lambda row: row[0].get_username(),
    "role": lambda row: row[1] or NO_ROLE,
    "login": lambda row: row[0].last_login,
    "since": lambda row: row[0].date_joined,
}


class PersonForm(forms.Form):
    """A person's role for all queues, and whether the person may log in."""

    role = forms.ChoiceField(
        label="Global role", choices=[("", NO_ROLE), *((role, role) for role in ROLES)], required=False
    )
    active = forms.BooleanField(label="Login enabled", required=False)

    def clean(self) -> dict[str, Any] | None:
        """Refuse a request without the field for the role; a browser always sends the field, even if it is empty."""
        if "role" not in self.data:
            self.add_error("role", "Choose a role, or none.")
        return super().clean()


class NewPersonForm(forms.Form):
    """The name, password and role of a new person."""

    username = forms.RegexField(
        r"^[\w.@+-]+$", label="Name", max_length=150, error_messages={"invalid": "Letters, digits and @ . + - _ only."}
    )
    role = forms.ChoiceField(
        label="Global role", choices=[*((role, role) for role in ROLES), ("", NO_ROLE)], required=False
    )
    password = password_field("new-password", max_length=128, help_text="At least 8 characters, and not a common word.")

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if get_user_model().objects.filter(username__iexact=username).exists():
            raise forms.ValidationError("A person with this name exists. Choose another name.")
        return username

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, User(username=self.cleaned_data.get("username", "")))
        return password


@require_http_methods(["GET", "HEAD", "POST"])
@requires("administer")
def browse(request: HttpRequest) -> HttpResponse:
    """GET /people: list people and roles. POST: add a person."""
    form = NewPersonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        person, role = _create(request, form), form.cleaned_data["role"]
        rights = f"with the role {role}" if role else "without a role. Add a grant so that the person sees queues"
        messages.success(request, f"Created {person.get_username()} {rights}.")
        return redirect("people")
    elsewhere = SocialAccount.objects.filter(user_id=OuterRef("pk"), provider=settings.OIDC_ISSUER)
    known = get_user_model().objects.annotate(signs_on=Exists(elsewhere)).prefetch_related("groups", "grants")
    listed = [(one, _role(one)) for one in known.order_by("-is_active", "username")[:MAX_PEOPLE]]
    people = arrange(request, listed, COLUMNS)
    context = {
        "title": "Users & access",
        "people": people.rows,
        "sort": people.links,
        "roles": list(ROLES),
        "form": form,
    }
    return render_page(request, "access/people/browse.html", "access/people/_list.html", context)


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
    """POST /people/<id>: change the role, or the right to log in. People cannot change their own role."""
    person = find(person_id)
    form = PersonForm(request.POST)
    if objection := _objection(request, person):
        form.add_error(None, objection)
    if not form.is_valid():
        title = f"Change {person.get_username()}"
        return refused.show(request, form, title=title, verb="Save", page=reverse("people"))
    _change(request, person, form)
    messages.success(request, f"Changed {person.get_username()}.")
    return redirect("people")


def _objection(request: HttpRequest, person: User) -> str:
    """Return why this administrator may not change the person, or nothing."""
    if person == request.user:
        return "Another administrator must change your own role."
    if person.is_superuser and not request.user.is_superuser:
        return "Only a superuser changes a superuser."
    return ""


def find(person_id: int) -> User:
    """Return the person of an address. Raises Http404 with an explanation."""
    person = User.objects.filter(pk=person_id).first()
    if person is None:
        raise Http404("There is no such person.")
    return person


@transaction.atomic
def _change(request: HttpRequest, person: User, form: PersonForm) -> None:
    role, active = form.cleaned_data["role"], form.cleaned_data["active"]
    before = {"role": _role(person), "active": person.is_active}
    _put_into(person, role)
    person.is_active = active
    person.save(update_fields=["is_active"])
    if not active:
        sessions.end_sessions(person)  # otherwise the sessions would work again once the person may log in again
    after = {"role": role, "active": active}
    changes = {name: {"before": before[name], "after": after[name]} for name in after if before[name] != after[name]}
    details = {"person": person.get_username(), "changes": changes}
    audit.record(request.user.get_username(), "person.change", details=details)


def _put_into(person: User, role: str) -> None:
    """Set the role for all queues, or remove it, which leaves the grants."""
    person.groups.set(Group.objects.filter(name=role) if role else [])


def _role(person: User) -> str:
    """Return the name of the role by group, as the form shows it; a superuser may do everything anyway."""
    names = {group.name for group in person.groups.all()}
    return next((role for role in reversed(ROLES) if role in names), "")
