"""Purges, configuration and rights take a password that was given a moment ago, and lose nothing that was typed."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User

from console.access.reauthentication import CHECKED_AT, FIELD, PERMISSIONS
from tests.console.access.test_who_may_what import MATRIX
from tests.console.browsers import Browser
from tests.console.security.corpus import ATTRIBUTES, ELEMENTS
from tests.engine import Engine

RIGHT = "correct horse battery"
ASKS = "Confirm your password"


def age(browser: Browser, seconds: float) -> None:
    """Move the last confirmation back by this time."""
    session = browser.session
    session[CHECKED_AT] -= seconds
    session.save()


@pytest.fixture
def stale(sign_in: Callable[[str], Browser]) -> Browser:
    """An administrator who logged in yesterday."""
    browser = sign_in("admin")
    person = User.objects.get(username=browser.name)
    person.set_password(RIGHT)
    person.save()
    browser.force_login(person)
    age(browser, 86_400)
    return browser


def is_paused(engine: Engine) -> bool:
    return bool(engine.value("select paused from signalbox.queue where queue_id = %s", engine.queue_id))


def test_what_is_hard_to_take_back_asks_for_the_password(stale: Browser, engine: Engine) -> None:
    for method, path, permission in MATRIX:
        if method == "post":
            answer = stale.post(path.replace("Q", engine.queue))
            assert (ASKS in answer.content.decode()) == (permission in PERMISSIONS), path
    assert not is_paused(engine)


def test_looking_never_asks(stale: Browser, engine: Engine) -> None:
    for method, path, _ in MATRIX:
        if method == "get":
            answer = stale.get(path.replace("Q", engine.queue))
            assert answer.streaming or ASKS not in answer.content.decode()


def test_a_rehashed_password_ends_no_session(stale: Browser, engine: Engine) -> None:
    """Lower the hash's work factor, as before an upgrade of Django."""
    person = User.objects.get(username=stale.name)
    person.password = PBKDF2PasswordHasher().encode(RIGHT, "salt", iterations=10)
    person.save()
    stale.force_login(person)
    age(stale, 86_400)

    stale.submit(f"/queues/{engine.queue}/pause", reason="it is late", **{FIELD: RIGHT})

    assert is_paused(engine)
    person.refresh_from_db()
    assert "$10$" not in person.password
    stale.see(f"/queues/{engine.queue}")  # and goes on


def test_with_the_password_it_is_done_as_it_was_asked(stale: Browser, engine: Engine) -> None:
    path = f"/queues/{engine.queue}/pause"
    page = stale.submit(path, status=403, reason=ELEMENTS)
    assert page.all("form")[0].attributes["action"] == path
    assert page.fields()["reason"] == ELEMENTS

    before = stale.session.session_key
    stale.submit(path, **{**page.fields(), FIELD: RIGHT})

    assert is_paused(engine)
    assert stale.session.session_key != before
    assert ASKS not in stale.submit(f"/queues/{engine.queue}/resume", reason="done").text
    assert not is_paused(engine)


def test_a_wrong_password_changes_nothing_and_keeps_the_form(stale: Browser, engine: Engine) -> None:
    page = stale.submit(f"/queues/{engine.queue}/pause", status=403, reason=ATTRIBUTES, **{FIELD: "wrong"})

    assert "Wrong password for" in page.text
    assert page.fields()["reason"] == ATTRIBUTES
    assert "wrong" not in page.fields().values()
    assert not is_paused(engine)


def test_guessing_it_is_locked_like_the_login(stale: Browser, engine: Engine, settings: LazySettings) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    path, address = f"/queues/{engine.queue}/pause", f"2001:db8::{uuid.uuid4().hex[:4]}"

    for expected in (403, 429, 429):
        answer = stale.post(path, {"reason": "x", FIELD: "wrong"}, REMOTE_ADDR=address)
        assert answer.status_code == expected

    assert stale.post(path, {"reason": "x", FIELD: RIGHT}, REMOTE_ADDR=address).status_code == 429
    assert not is_paused(engine)


def test_several_values_of_one_field_are_all_kept(stale: Browser, engine: Engine) -> None:
    answer = stale.post(f"/queues/{engine.queue}/purge", {"states": ["ready", "scheduled"], "reason": "x"})

    for state in ("ready", "scheduled"):
        assert f'<input type="hidden" name="states" value="{state}">' in answer.content.decode()


def test_secrets_are_not_written_into_the_page(stale: Browser) -> None:
    page = stale.submit("/people", status=403, username="someone", role="viewer", password="sesame-4711")

    assert page.fields()["username"] == "someone"
    assert "sesame" not in page.html


def test_a_forbidden_action_is_refused_with_the_password_too(sign_in: Callable[[str], Browser], engine: Engine) -> None:
    viewer = sign_in("viewer")

    assert "Not allowed" in viewer.submit(f"/queues/{engine.queue}/pause", status=403, reason="x").text


def test_the_password_does_not_reach_the_view(stale: Browser, engine: Engine) -> None:
    stale.submit(f"/queues/{engine.queue}/pause", reason="x", **{FIELD: RIGHT})
    answer = stale.post(f"/queues/{engine.queue}/settings", {FIELD: RIGHT})

    assert RIGHT not in answer.content.decode()


def test_it_lasts_for_the_time_of_the_setting(stale: Browser, engine: Engine, settings: LazySettings) -> None:
    path = f"/queues/{engine.queue}/pause"

    settings.CONFIRM_PASSWORD_MINUTES = 2 * 1440
    assert stale.post(path, {"reason": "x"}).status_code == 302
    settings.CONFIRM_PASSWORD_MINUTES = 1440
    assert stale.post(path, {"reason": "x"}).status_code == 403
    settings.CONFIRM_PASSWORD_MINUTES = 0
    assert stale.post(path, {"reason": "x"}).status_code == 302
    settings.CONFIRM_PASSWORD_MINUTES = 1440
    age(stale, -2 * 86_400)  # a clock that was set back
    assert stale.post(path, {"reason": "x"}).status_code == 403


def test_a_user_without_a_password_confirms_by_a_new_login(stale: Browser, engine: Engine) -> None:
    person = User.objects.get(username=stale.name)
    person.set_unusable_password()
    person.save()
    stale.force_login(person)
    age(stale, 86_400)

    page = stale.submit(f"/queues/{engine.queue}/pause", status=403, reason="x")

    assert page.one("form").attributes["action"] == "/logout"


def test_htmx_shows_the_question_in_the_whole_page(stale: Browser, engine: Engine) -> None:
    answer = stale.post(f"/queues/{engine.queue}/pause", {"reason": "x"}, headers={"HX-Request": "true"})

    assert (answer.status_code, answer["HX-Retarget"]) == (200, "body")
    assert ASKS in answer.content.decode()
