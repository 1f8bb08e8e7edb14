"""Forms that could not be accepted: the page that says so keeps their fields, but no secrets.

They wait for a login, for a password, or for whatever an error page names.

The form of an expired session is encrypted in the login page, for the person who last logged in with this browser.
CSRF tokens change with each login, so a form with a valid token is that person's. Other people cannot open it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.fernet import InvalidToken
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse

from console.web.htmx import render_form
from queues.encryption import cipher

FIELD = "kept"
SECRETS = {"password", "current_password", "current_code", "code", "old", "new", "secret", "csrfmiddlewaretoken", FIELD}
NOT_SHOWN = {"login", "login_code", "logout", "preferences", "sign_on", "sign_on_again"}
"""Addresses whose forms hold nothing that a person would miss."""
PURPOSE = b"signalbox: forms of expired sessions"
MAX_CHARACTERS = 400_000
"""The maximum length of the fields as JSON. A payload that is sent by hand has at most 262,144 bytes."""
MAX_SECONDS = 12 * 3600

Fields = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class KeptForm:
    """A form that was not submitted: its address, its fields, and the page that showed it."""

    to: str
    fields: Fields
    page: str

    @property
    def shown(self) -> list[tuple[str, str]]:
        """List (label, value) of what the person entered, without empty and unchanged values."""
        values = flat(self.fields)
        before = {name.removeprefix("initial-"): value for name, value in values if name.startswith("initial-")}
        return [
            (name.replace("_", " ").capitalize(), value)
            for name, value in values
            if value.strip() and before.get(name) != value and not name.startswith("initial-")
        ]

    @property
    def hidden(self) -> Sequence[tuple[str, str]]:
        """List every value with its name, for the hidden inputs that send the form again."""
        return flat(self.fields)


def fields_of(request: HttpRequest) -> Fields:
    """List the fields of the sent form that may stand in a page: names and values, without secrets."""
    return [(name, values) for name, values in request.POST.lists() if name not in SECRETS]


def refused(request: HttpRequest) -> KeptForm | None:
    """Return the form that an error page refuses; None if the request has no form with values worth keeping."""
    name = request.resolver_match.url_name if request.resolver_match else ""
    fields = fields_of(request) if request.method == "POST" and name not in NOT_SHOWN else ()
    form = KeptForm(request.get_full_path(), fields, "")
    return form if form.shown and len(json.dumps(fields)) <= MAX_CHARACTERS else None


def flat(fields: Fields) -> Sequence[tuple[str, str]]:
    """List each value of the fields with its name, as hidden inputs need them."""
    return [(name, value) for name, values in fields for value in values]


def seal(form: KeptForm, person: AbstractBaseUser) -> str:
    """Encrypt a form for this person; return an empty text for a form that is too large."""
    text = json.dumps([person.pk, form.to, form.fields, form.page])
    return cipher(PURPOSE).encrypt(text.encode()).decode() if len(text) <= MAX_CHARACTERS else ""


def unseal(text: str, person: AbstractBaseUser) -> KeptForm | None:
    """Decrypt a form; None if the form is another person's or too old, or if the text is no encrypted form."""
    try:
        owner, *form = json.loads(cipher(PURPOSE).decrypt(text, ttl=MAX_SECONDS))
    except (InvalidToken, ValueError):
        return None
    return KeptForm(*form) if owner == person.pk else None


def offer(request: HttpRequest, form: KeptForm) -> HttpResponse:
    """Show the page that submits a kept form after the person has proved their identity."""
    context = {"title": "Continue", "to": form.to, "page": form.page, "kept": flat(form.fields)}
    return render_form(request, "access/login/reauthenticated.html", context)
