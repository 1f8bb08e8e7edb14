"""How one person likes the console: theme, density, clock, shortcuts.

They live in cookies, so that the server can write them into the first byte of the page: no flash of the wrong
theme, and nothing inline for the content security policy to forgive.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

YEAR_SECONDS = 365 * 24 * 3600

# Cookie -> the values it may have; the first is the default.
CHOICES: dict[str, tuple[str, ...]] = {
    "theme": ("auto", "light", "dark"),
    "density": ("regular", "compact"),
    "zone": ("utc", "local"),
    "shortcuts": ("on", "off"),
}


@dataclass(frozen=True)
class Preferences:
    """The choices of the person who asks; an unknown value counts as the default."""

    theme: str
    density: str
    zone: str
    shortcuts: str


def read(request: HttpRequest) -> Preferences:
    """The preferences in the request's cookies."""
    return Preferences(**{name: _allowed(name, request.COOKIES.get(name, "")) for name in CHOICES})


def remember(response: HttpResponse, name: str, value: str) -> None:
    """Keep one preference for a year; a value that is not a choice is ignored."""
    if value in CHOICES.get(name, ()):
        response.set_cookie(
            name,
            value,
            max_age=YEAR_SECONDS,
            secure=settings.SESSION_COOKIE_SECURE,
            samesite="Lax",
            httponly=True,
        )


def _allowed(name: str, value: str) -> str:
    return value if value in CHOICES[name] else CHOICES[name][0]
