"""Passwords are not guessed: a name is locked for the address that fails, and says until when."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils import timezone

from console.access import lockout
from queues.models import AuditEvent
from tests.console.browsers import Browser, Page
from tests.console.security.corpus import ELEMENTS

RIGHT = "correct horse battery"


@pytest.fixture
def name(commits: None, settings: LazySettings) -> Iterator[str]:
    """User with a limit of two wrong passwords."""
    settings.AXES_FAILURE_LIMIT = 3
    made = f"guessed-{uuid.uuid4().hex[:8]}"
    User.objects.create_user(made, password=RIGHT)
    yield made
    User.objects.filter(username=made).delete()


def log_in(name: str, password: str, address: str = "192.0.2.1") -> HttpResponse:
    return Browser().post("/login", {"username": name, "password": password}, REMOTE_ADDR=address)


def fail(name: str, times: int, address: str = "192.0.2.1") -> HttpResponse:
    for _ in range(times):
        answer = log_in(name, "wrong", address)
    return answer


def test_too_many_wrong_passwords_lock_the_name_for_that_address(name: str) -> None:
    assert fail(name, 2).status_code == 422

    locked = fail(name, 1)
    also_right = log_in(name, RIGHT)

    assert (locked.status_code, also_right.status_code) == (429, 429)
    assert log_in(name, RIGHT, "192.0.2.2").status_code == 302
    assert log_in(name, RIGHT).status_code == 429


def test_without_the_defence_one_may_go_on_guessing(name: str, settings: LazySettings) -> None:
    settings.AXES_ENABLED = False

    assert fail(name, 5).status_code == 422
    assert log_in(name, RIGHT).status_code == 302


def test_the_page_says_when_one_may_try_again(name: str, settings: LazySettings) -> None:
    settings.AXES_COOLOFF_TIME = timedelta(hours=3)

    locked = fail(name, 3)

    page = Page(locked.content.decode())
    assert "Too many wrong passwords" in page.text
    assert page.all("time")
    assert 3 * 3600 - 300 < int(locked["Retry-After"]) <= 3 * 3600


def test_the_lock_ends_by_itself(name: str, settings: LazySettings) -> None:
    fail(name, 3)
    before = timezone.now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1)
    AccessAttempt.objects.filter(username=name).update(attempt_time=before)

    assert log_in(name, RIGHT).status_code == 302


def test_trying_on_while_locked_does_not_make_it_longer(name: str) -> None:
    fail(name, 3)
    (before,) = AccessAttempt.objects.filter(username=name).values_list("attempt_time", flat=True)

    fail(name, 2)

    assert AccessAttempt.objects.get(username=name).attempt_time == before


def test_a_right_password_forgives_what_was_wrong_before(name: str) -> None:
    fail(name, 2)

    assert log_in(name, RIGHT).status_code == 302
    assert fail(name, 2).status_code == 422


def test_names_that_do_not_exist_are_locked_alike(name: str) -> None:
    nobody = f"nobody-{name}"

    told = [Page(fail(one, 2).content.decode()).text for one in (nobody, name)]

    assert told[0] == told[1]
    assert fail(nobody, 1).status_code == 429


def test_an_administrator_unlocks_by_a_command(name: str) -> None:
    fail(name, 3)
    told = io.StringIO()

    call_command("unlock", name, stdout=told)

    assert "may try again: 1 record of wrong passwords removed" in told.getvalue()
    assert AuditEvent.objects.filter(action="person.unlock", details__person=name).count() == 1
    assert log_in(name, RIGHT).status_code == 302


@pytest.mark.parametrize("address", ["", "unix:", ELEMENTS, "1" * 300])
def test_an_address_that_is_none_is_counted_as_one_without(name: str, address: str) -> None:
    assert fail(name, 2, address).status_code == 422
    assert fail(name, 1, address).status_code == 429


def test_what_was_typed_is_not_kept(name: str) -> None:
    Browser().post("/login", {"username": name, "password": "sesame-4711", "next": "/?q=sesame-4712"})

    (kept,) = AccessAttempt.objects.filter(username=name)
    assert "sesame" not in f"{kept.get_data}{kept.post_data}{kept.path_info}"


@pytest.mark.parametrize("text", ["\0", "x" * 10_000, "\ud800", ELEMENTS])
def test_hostile_names_are_refused_like_any_other(name: str, text: str) -> None:
    answer = Browser().post("/login", {"username": text.encode("utf-8", "replace"), "password": "wrong"})

    assert answer.status_code in (400, 422)


def test_one_network_of_ipv6_is_one_address(name: str) -> None:
    for number in range(3):
        answer = log_in(name, "wrong", f"2001:db8:1:2::{number + 1:x}")

    assert answer.status_code == 429
    assert log_in(name, RIGHT, "2001:db8:1:2:ffff::9").status_code == 429
    assert log_in(name, RIGHT, "2001:db8:1:3::1").status_code == 302


def test_ipv4_is_the_same_however_it_is_written(name: str) -> None:
    fail(name, 2, "198.51.100.7")

    assert fail(name, 1, "::ffff:198.51.100.7").status_code == 429


@pytest.fixture
def soon(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few wrong passwords are many, of which one address has none locked."""
    settings.AXES_FAILURE_LIMIT, settings.LOGIN_ATTEMPTS = 100, 1
    monkeypatch.setattr(lockout, "NAME_TIMES", 4)
    monkeypatch.setattr(lockout, "ADDRESS_TIMES", 6)


def rested(**common: str) -> None:
    """Move the last attempt back by a minute."""
    AccessAttempt.objects.filter(**common).update(
        attempt_time=timezone.now() - timedelta(seconds=lockout.SLOW_SECONDS + 1)
    )


@pytest.mark.usefixtures("soon")
def test_many_addresses_guess_one_name_slowly(name: str) -> None:
    tried = [log_in(name, "wrong", f"198.18.{number}.1").status_code for number in range(6)]

    assert tried == [422, 422, 422, 422, 429, 429]
    slowed = log_in(name, RIGHT, "198.18.77.1")
    assert slowed.status_code == 429
    assert 0 < int(slowed["Retry-After"]) <= lockout.SLOW_SECONDS
    rested(username=name)
    assert log_in(name, RIGHT, "198.18.78.1").status_code == 302  # slow is not locked


@pytest.mark.usefixtures("soon")
def test_one_address_guesses_many_names_slowly(name: str) -> None:
    address = f"2001:db8:{uuid.uuid4().hex[:4]}:{uuid.uuid4().hex[:4]}::1"
    tried = [log_in(f"{name}-{number}", "wrong", address).status_code for number in range(8)]

    assert tried == [422] * 6 + [429] * 2
    assert log_in(name, RIGHT, address).status_code == 429
    assert log_in(name, RIGHT, "198.18.79.1").status_code == 302


@pytest.mark.usefixtures("soon")
def test_failed_guesses_of_strangers_do_not_block_confirming(name: str) -> None:
    person = Browser(name)
    person.force_login(User.objects.get(username=name))
    for number in range(5):
        log_in(name, "wrong", f"198.18.{number}.2")
    request = RequestFactory().post("/", REMOTE_ADDR="198.18.80.1")
    request.user = User.objects.get(username=name)

    assert lockout.authenticate(request, name, RIGHT) is not None


@pytest.mark.usefixtures("soon")
def test_strangers_cannot_lock_out_a_known_browser(name: str) -> None:
    known, other = Browser(), f"{name}-other"
    known.post("/login", {"username": name, "password": RIGHT}, REMOTE_ADDR="198.18.90.1")
    known.post("/logout", REMOTE_ADDR="198.18.90.1")
    User.objects.create_user(other, password=RIGHT)
    for guessed in (name, other):
        for number in range(5):
            log_in(guessed, "wrong", f"198.18.{number}.3")

    def again(username: str) -> int:
        return known.post("/login", {"username": username, "password": RIGHT}, REMOTE_ADDR="198.18.91.1").status_code

    assert log_in(name, RIGHT, "198.18.91.1").status_code == 429
    assert again(other) == 429  # it is known for one person alone
    assert again(name) == 302
    person = User.objects.get(username=name)
    person.set_password(f"{RIGHT}!")
    person.save()
    assert again(name) == 429  # and as long as the password is the same
    User.objects.filter(username=other).delete()
