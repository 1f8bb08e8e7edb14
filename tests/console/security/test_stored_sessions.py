"""A dump of the session table opens no session, and the pages that end sessions still find them."""

from __future__ import annotations

import re

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from console.access import sessions
from console.access.sessions import stored_key
from tests.console.browsers import Browser


def newest() -> list[str]:
    """Keys of some other sessions: earlier tests leave hundreds, and each word of each is tried as a cookie."""
    return list(Session.objects.order_by("-expire_date").values_list("session_key", flat=True)[:10])


def test_no_stored_key_is_a_cookie(admin: Browser) -> None:
    admin.see("/")
    own = admin.cookies[settings.SESSION_COOKIE_NAME].value
    stored = Session.objects.filter(session_key=stored_key(own)) | Session.objects.filter(pk__in=newest())
    rows = list(stored.values_list("session_key", "session_data"))
    assert stored_key(own) in [key for key, _ in rows]

    words = {word for row in rows for text in row for word in [text, *re.split(r"[^A-Za-z0-9_-]", text)] if word}
    assert own not in words
    for word in words:
        thief = Browser()
        thief.cookies[settings.SESSION_COOKIE_NAME] = word
        answer = thief.get("/")
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/login")


def test_sessions_of_a_person_end_but_for_the_one_that_asks(admin: Browser) -> None:
    person = User.objects.get(username=admin.name)
    other = Browser("other")
    other.force_login(person)

    assert sessions.end_sessions(person, but=admin.session.session_key) >= 1

    admin.see("/")
    assert other.get("/").status_code == 302


def test_a_logout_removes_the_row(admin: Browser) -> None:
    key = stored_key(admin.session.session_key or "")
    assert Session.objects.filter(pk=key).exists()

    admin.submit("/logout")

    assert not Session.objects.filter(pk=key).exists()
