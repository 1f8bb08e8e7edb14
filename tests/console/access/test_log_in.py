"""Logging in, out, and being logged out under an open page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from console.access.account import PasswordForm
from tests.console.browsers import Browser


@pytest.fixture
def ana(commits: None) -> User:
    User.objects.filter(username="test-ana").delete()
    return User.objects.create_superuser("test-ana", password="correct horse")


def test_one_comes_back_to_where_one_was_going(ana: User) -> None:
    browser = Browser()
    form = browser.see("/login", next="/audit?q=actor:ana").fields()

    answer = browser.post("/login", {**form, "username": "test-ana", "password": "correct horse"})

    assert answer["Location"] == "/audit?q=actor:ana"


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "\\\\evil"])
def test_login_redirects_stay_on_this_site(ana: User, elsewhere: str) -> None:
    answer = Browser().post("/login", {"next": elsewhere, "username": "test-ana", "password": "correct horse"})

    assert answer["Location"] == "/"


def test_a_wrong_password_is_said_without_saying_which_part(ana: User) -> None:
    browser = Browser()

    wrong = browser.submit("/login", status=422, username="test-ana", password="wrong")
    unknown = browser.submit("/login", status=422, username="<b>nobody</b>", password="wrong")

    message = "Wrong name or password. Both are case-sensitive."
    assert message in wrong.text
    assert message in unknown.text
    assert "wrong" not in wrong.html
    assert "<b>nobody" not in unknown.html


def test_a_login_takes_away_sessions_that_are_over(ana: User) -> None:
    for key, days in (("over", -1), ("under-way", 1)):
        Session.objects.create(session_key=f"test-{key}", expire_date=timezone.now() + timedelta(days=days))

    Browser().post("/login", {"username": "test-ana", "password": "correct horse"})

    kept = Session.objects.filter(session_key__startswith="test-")
    assert [session.pk for session in kept] == ["test-under-way"]
    kept.delete()


def test_logging_out_ends_the_session_and_needs_a_form(ana: User) -> None:
    browser = Browser()
    browser.force_login(ana)

    assert browser.get("/logout").status_code == 405
    assert browser.post("/logout")["Location"] == "/login"
    assert browser.get("/")["Location"] == "/login?next=/"


def test_the_login_takes_passwords_as_long_as_one_may_set(ana: User) -> None:
    """A browser cuts what is longer than the field, and says nothing."""
    longest = Browser().see("/login").one("input", name="password").attributes["maxlength"]

    assert int(longest) == PasswordForm.base_fields["new"].max_length


def test_a_session_ends_so_long_after_the_login_whatever_is_done_in_it(ana: User) -> None:
    """A session that was stolen cannot be kept alive by what saves it."""
    browser, latest = Browser(), timezone.now() + timedelta(hours=settings.SESSION_HOURS, minutes=1)
    browser.post("/login", {"username": "test-ana", "password": "correct horse"})
    ends_at = browser.session.get_expiry_date()

    session = browser.session
    session["touched"] = True
    session.save()

    assert browser.session.get_expiry_date() == ends_at
    assert ends_at <= latest


def test_a_session_that_ended_under_an_open_page_reloads_it(commits: None) -> None:
    answer = Browser().get("/login", headers={"HX-Request": "true"})

    assert answer["HX-Refresh"] == "true"
