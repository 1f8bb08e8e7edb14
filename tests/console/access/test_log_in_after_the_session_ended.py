"""A form that is sent after the session has ended is kept for the same person only."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from allauth.mfa.totp.internal import auth as totp
from django.conf import LazySettings
from django.contrib.auth.models import User

from tests.console.browsers import Browser, Page
from tests.console.security.corpus import ELEMENTS
from tests.engine import Engine

PASSWORD = "correct horse battery"


def person(name: str) -> User:
    User.objects.filter(username=name).delete()
    return User.objects.create_superuser(name, password=PASSWORD)


@pytest.fixture
def ana(commits: None) -> Browser:
    """Browser of a person whose session ended after the login."""
    person("test-ana")
    browser = Browser(enforce_csrf_checks=True)
    page = browser.see("/login")
    answer = browser.post("/login", {**page.fields(), "username": "test-ana", "password": PASSWORD})
    assert answer.status_code == 302
    return browser


def end_session(browser: Browser) -> None:
    browser.session.flush()


def log_in(browser: Browser, page: Page, name: str) -> Page:
    fields = {key: value for key, value in page.fields().items() if value}
    answer = browser.post("/login", {**fields, "username": name, "password": PASSWORD})
    return browser.see(unquote(answer["Location"])) if answer.status_code == 302 else Page(answer.content.decode())


def send_late(browser: Browser, engine: Engine, **fields: str) -> Page:
    """Open a form, let the session end, and send the form."""
    path = f"/queues/{engine.queue}/pause"
    token = browser.see(f"/queues/{engine.queue}").fields()["csrfmiddlewaretoken"]
    end_session(browser)
    answer = browser.post(
        path,
        {"csrfmiddlewaretoken": token, **fields},
        headers={"Referer": f"http://testserver/queues/{engine.queue}"},
    )
    assert answer.status_code == 403
    return Page(answer.content.decode())


def paused_reason(engine: Engine) -> object:
    return engine.value("select paused_reason from signalbox.queue where queue_id = %s", engine.queue_id)


def test_the_form_is_submitted_after_the_login_of_the_same_person(ana: Browser, engine: Engine) -> None:
    page = send_late(ana, engine, reason=ELEMENTS, password="sesame-4711")
    assert "Your session has ended. Nothing was submitted yet." in page.text
    assert ELEMENTS not in page.html
    assert paused_reason(engine) is None

    wrong = ana.submit("/login", status=422, **{**page.fields(), "username": "test-ana", "password": "wrong"})
    offered = log_in(ana, wrong, "test-ana")

    assert offered.one("form").attributes["action"] == f"/queues/{engine.queue}/pause"
    assert offered.fields()["reason"] == ELEMENTS
    assert "sesame" not in offered.html
    ana.submit(f"/queues/{engine.queue}/pause", **offered.fields())
    assert paused_reason(engine) == ELEMENTS


def test_a_login_with_a_code_keeps_the_form_too(ana: Browser, engine: Engine, settings: LazySettings) -> None:
    settings.SECOND_FACTOR, secret = "optional", totp.generate_totp_secret()
    totp.TOTP.activate(User.objects.get(username="test-ana"), secret)
    page = send_late(ana, engine, reason="by code")

    asked = log_in(ana, page, "test-ana")
    code = totp.format_hotp_value(totp.hotp_value(secret, next(iter(totp.yield_hotp_counters_from_time()))))
    answer = ana.post("/login/code", {**asked.fields(), "code": code})

    assert Page(answer.content.decode()).fields()["reason"] == "by code"


def test_another_person_gets_the_empty_form(ana: Browser, engine: Engine) -> None:
    person("test-eve")
    page = send_late(ana, engine, reason="secret plan")

    arrived = log_in(ana, page, "test-eve")

    assert "The form was not submitted: another person sent it" in arrived.text
    assert arrived.title.endswith(f"{engine.queue} · Signalbox")
    assert "secret plan" not in arrived.html
    assert paused_reason(engine) is None


@pytest.mark.parametrize("forged", ["gAAAA", "ä", "x" * 100])
def test_a_forged_form_is_not_offered(ana: Browser, forged: str) -> None:
    page = ana.see("/login")
    answer = ana.post("/login", {**page.fields(), "kept": forged, "username": "test-ana", "password": PASSWORD})

    assert (answer.status_code, answer["Location"]) == (302, "/")


def test_a_form_without_a_valid_token_is_not_kept(ana: Browser, engine: Engine) -> None:
    end_session(ana)

    answer = ana.post(f"/queues/{engine.queue}/pause", {"reason": "x", "csrfmiddlewaretoken": "a" * 64})

    assert answer.status_code == 403
    assert b'name="kept"' not in answer.content


def test_a_stranger_is_asked_to_log_in(engine: Engine) -> None:
    answer = Browser().post(f"/queues/{engine.queue}/pause", {"reason": "x"})

    assert answer["Location"] == f"/login?next=/queues/{engine.queue}/pause"


def test_a_page_of_a_session_that_ended_says_so_and_comes_back(ana: Browser) -> None:
    end_session(ana)
    answer = ana.get("/audit?q=actor:ana")

    page = ana.see(answer["Location"])
    assert "Your session has ended. Log in to return to the page." in page.text
    assert log_in(ana, page, "test-ana").title.endswith("Audit log · Signalbox")
