"""Browsers in which a person has logged in: strangers who guess that person's password do not slow those down.

Each keeps a signed cookie for one person. It ends with that person's password, and after KEPT_SECONDS.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare

COOKIE = settings.SESSION_COOKIE_NAME.removesuffix("session") + "known"
SALT = "console.known_browsers"
KEPT_SECONDS = 90 * 24 * 3600


def remember(response: HttpResponse, person: AbstractBaseUser) -> None:
    """Let the browser show from now on that the person has logged in there."""
    response.set_cookie(
        COOKIE,
        signing.dumps([person.get_username(), _password_of(person)], salt=SALT),
        max_age=KEPT_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
        httponly=True,
    )


def knows(request: HttpRequest, username: str) -> bool:
    """Whether the person of this name has logged in there, with the password that is right today."""
    try:
        name, password = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=KEPT_SECONDS)
    except (signing.BadSignature, TypeError, ValueError):
        return False
    person = get_user_model().objects.filter(username=name).first() if name == username else None
    return person is not None and constant_time_compare(_password_of(person), password)


def _password_of(person: AbstractBaseUser) -> str:
    """A text that changes with the password and does not reveal it."""
    return person.get_session_auth_hash()
