"""The step between password, or sign-on, and session: whoever has a second factor is asked for a code first.

Until then the session knows only who wants to come in. Wrong codes count like wrong passwords, so six digits cannot be
tried one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.deprecation import MiddlewareMixin

from console import attempts, second_factor

PASSED = "second_factor"  # in the session: a code was given
WAITING = "waiting_for_code"  # in the session: who gave a password, and when
WAITS_SECONDS = 300
# Where somebody without a factor may go where one is required.
ALLOWED = {"account", "account_password", "second_factor", "second_factor_confirm", "logout", "preferences", "live"}
ALLOWED |= {"sign_on", "sign_on_callback", "sign_on_again", "recovery_codes"}


def wait(request: HttpRequest, person: AbstractBaseUser, elsewhere: float | None = None) -> None:
    """Remember who gave the right password, or logged in `elsewhere`; nobody is logged in by that."""
    request.session.flush()
    said = {"person": person.pk, "hash": person.get_session_auth_hash()}  # type: ignore[attr-defined]
    request.session[WAITING] = said | {"at": timezone.now().timestamp(), "elsewhere": elsewhere}


@transaction.atomic
def takes(request: HttpRequest, person: AbstractBaseUser, code: str) -> bool:
    """Whether it is a code of theirs. Wrong ones are counted; raises `TooManyAttempts`.

    Under the person's row, one code after another: of many at once each would else be looked at before any is counted.
    """
    name = person.get_username()
    get_user_model().objects.select_for_update(no_key=True).filter(pk=person.pk).first()
    attempts.check(request, name)
    if second_factor.takes(person, code):
        attempts.forgive_codes(name)
        return True
    attempts.note_wrong_code(request, name)
    return False


def waiting(request: HttpRequest) -> AbstractBaseUser | None:
    """Who gave the right password within the last minutes."""
    told = request.session.get(WAITING) or {}
    age = timezone.now().timestamp() - told.get("at", float("-inf"))
    if not 0 <= age < WAITS_SECONDS:
        return None
    person = get_user_model().objects.filter(pk=told["person"], is_active=True).first()
    if person is None or not constant_time_compare(told.get("hash", ""), person.get_session_auth_hash()):
        return None  # shut out meanwhile, or with another password
    return person


class RequiredFactorMiddleware(MiddlewareMixin):
    """Where a second factor is required, whoever has none makes one before anything else."""

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> HttpResponse | None:
        """None lets the request go on. Asks no database: the session says whether a code was given."""
        if settings.SECOND_FACTOR != "required" or not request.user.is_authenticated or request.session.get(PASSED):
            return None
        name = request.resolver_match.url_name if request.resolver_match else ""
        return None if name in ALLOWED else redirect("account")
