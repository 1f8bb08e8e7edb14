"""Fresh proof of who one is, for people without a password here: the provider once more, or a code of their app."""

from __future__ import annotations

import time
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth as totp
from django.conf import LazySettings
from django.contrib.auth.models import User

from console.access.reauthentication import CHECKED_AT, CODE_FIELD, FIELD
from console.access.second_factor import LAST_STEP
from queues.models import AuditEvent
from tests.console.browsers import Browser
from tests.console.security.codes import wrong
from tests.console.security.oidc_provider import Provider
from tests.console.security.sign_ons import came_in, leave, new_subject, person, sign_on, there
from tests.console.security.test_confirm_the_password import is_paused
from tests.engine import Engine

STEP = 60_000_000


def reckoned(secret: str, steps: int) -> str:
    return totp.format_hotp_value(totp.hotp_value(secret, STEP + steps))


@pytest.fixture
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apps show the codes of three steps for as long as a test takes; nothing else stands still."""
    monkeypatch.setattr(totp, "yield_hotp_counters_from_time", lambda: iter(range(STEP, STEP + 4)))


def with_an_app(provider: Provider, settings: LazySettings) -> tuple[str, str]:
    """User of the provider with a second factor, whose code of STEP is used."""
    settings.SECOND_FACTOR, subject = "optional", new_subject(provider, "leads")
    sign_on(Browser(), subject)
    secret = totp.generate_totp_secret()
    made = totp.TOTP.activate(person(subject), secret).instance
    made.data[LAST_STEP] = STEP
    made.save()
    return subject, secret


def ask_again(browser: Browser, path: str, **form: str) -> dict[str, str]:
    """Read the fields of the interrupted form from the page that asks for confirmation."""
    page = browser.submit(path, status=403, **form)
    assert "Sign in with Acme Sign-On again" in page.text
    return page.fields()


@pytest.fixture
def stale(provider: Provider) -> tuple[Browser, str]:
    """An admin who logged in at the provider yesterday, and came from there just now."""
    subject, browser = new_subject(provider, "leads"), Browser()
    provider.twists = {"auth_time": int(time.time()) - 86_400}
    sign_on(browser, subject)
    provider.twists = {}
    return browser, subject


def test_a_login_of_long_ago_at_the_provider_is_no_fresh_one(provider: Provider) -> None:
    fresh, stale, silent = Browser(), Browser(), Browser()
    sign_on(fresh, new_subject(provider, "leads"))
    provider.twists = {"auth_time": int(time.time()) - 86_400}
    sign_on(stale, new_subject(provider, "leads"))
    provider.twists = {"auth_time": None}
    sign_on(silent, new_subject(provider, "leads"))

    statuses = [one.post("/new-queue", {"name": ""}).status_code for one in (fresh, stale, silent)]

    assert statuses == [422, 403, 403]


def test_what_is_hard_to_take_back_asks_the_provider_again(
    provider: Provider, stale: tuple[Browser, str], engine: Engine
) -> None:
    browser, subject = stale
    path = f"/queues/{engine.queue}/pause"
    before = browser.session.session_key

    kept = ask_again(browser, path, reason="by hand")
    back = there(leave(browser, "/account/sign-on", to=kept["to"], fields=kept["fields"]), subject)
    page = browser.see(back)

    assert (provider.asked[-1]["prompt"], provider.asked[-1]["max_age"]) == ("login", "0")
    assert not is_paused(engine)
    assert page.one("form").attributes["action"] == path
    browser.submit(path, reason=page.fields()["reason"])
    assert is_paused(engine)
    assert browser.session.session_key != before


@pytest.mark.parametrize("auth_time", [None, -86_400, True, "now"])
def test_a_provider_that_asked_for_nothing_proves_nothing(
    provider: Provider, stale: tuple[Browser, str], engine: Engine, auth_time: Any
) -> None:
    browser, subject = stale
    known = int(time.time()) + auth_time if auth_time == -86_400 else auth_time
    provider.twists = {"auth_time": known}

    back = there(leave(browser, "/account/sign-on", to=f"/queues/{engine.queue}/pause", fields="[]"), subject)

    assert "did not ask for your password, or does not say so" in browser.see(back, 403).text
    assert browser.post(f"/queues/{engine.queue}/pause", {"reason": "x"}).status_code == 403
    assert not is_paused(engine)


@pytest.mark.usefixtures("_still")
def test_where_the_provider_never_says_when_people_make_a_proof_here(
    provider: Provider, settings: LazySettings, engine: Engine
) -> None:
    settings.SECOND_FACTOR, provider.twists = "optional", {"auth_time": None}
    subject, browser, path = new_subject(provider, "leads"), Browser(), f"/queues/{engine.queue}/pause"
    sign_on(browser, subject)
    assert browser.post(path, {"reason": "x"}).status_code == 403

    secret = "".join(browser.submit("/account/second-factor").one("code").text.split())
    browser.submit("/account/second-factor/confirm", 200, code=reckoned(secret, 1))
    assert browser.post("/account/second-factor/remove").status_code == 403, "it is the proof from now on"
    browser.submit(path, reason="x", **{CODE_FIELD: reckoned(secret, 2)})

    assert is_paused(engine)


def test_a_session_left_open_makes_no_first_proof(
    provider: Provider, settings: LazySettings, stale: tuple[Browser, str]
) -> None:
    settings.SECOND_FACTOR = "optional"
    browser, _ = stale
    session = browser.session
    session["signed_on_at"] -= 86_400
    session.save()

    assert browser.post("/account/second-factor").status_code == 403


def test_another_account_of_the_provider_confirms_nothing(
    provider: Provider, stale: tuple[Browser, str], engine: Engine
) -> None:
    browser, _ = stale
    other = new_subject(provider, "leads")

    back = there(leave(browser, "/account/sign-on", to="/", fields="[]"), other)

    assert "You signed in as another person" in browser.see(back, 403).text
    assert not User.objects.filter(username=other).exists()
    assert not AuditEvent.objects.filter(details__person=other).exists()
    assert browser.post(f"/queues/{engine.queue}/pause", {"reason": "x"}).status_code == 403
    assert browser.session[CHECKED_AT] < time.time() - 3600


def test_a_lost_role_ends_the_session_at_confirmation(provider: Provider, stale: tuple[Browser, str]) -> None:
    browser, subject = stale
    provider.people[subject]["groups"] = []

    back = there(leave(browser, "/account/sign-on", to="/", fields="[]"), subject)

    assert browser.get(back).status_code == 403
    assert not came_in(browser)


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"])
def test_what_waits_is_a_page_of_ours(provider: Provider, stale: tuple[Browser, str], to: str) -> None:
    browser, subject = stale

    page = browser.see(there(leave(browser, "/account/sign-on", to=to, fields='[["a", ["b"]]]'), subject))

    assert page.one("form").attributes["action"] == "/"


@pytest.mark.parametrize("fields", [f'["{"x" * 100_001}"]', "", "x", "{}", "7", "null", '[["a"]]', "[" * 50_000])
def test_a_form_that_cannot_wait_is_not_kept(provider: Provider, stale: tuple[Browser, str], fields: str) -> None:
    browser, subject = stale

    page = browser.see(there(leave(browser, "/account/sign-on", to="/people", fields=fields), subject))

    assert page.one("form").attributes["action"] in ("/", "/people")
    assert [name for name in page.fields() if name != "csrfmiddlewaretoken"] == []


@pytest.mark.usefixtures("_still")
def test_a_second_factor_is_asked_for_after_sign_on(provider: Provider, settings: LazySettings) -> None:
    subject, secret = with_an_app(provider, settings)
    browser = Browser()

    answer = sign_on(browser, subject, next="/audit")

    assert answer["Location"] == "/login/code?next=%2Faudit"
    assert not came_in(browser)
    form = browser.see(answer["Location"]).fields()
    assert browser.post("/login/code", {**form, "code": reckoned(secret, 1)})["Location"] == "/audit"
    assert came_in(browser)
    assert browser.session["_session_expiry"]


@pytest.mark.usefixtures("_still")
def test_a_code_confirms_for_a_user_without_a_password(
    provider: Provider, settings: LazySettings, engine: Engine
) -> None:
    subject, secret = with_an_app(provider, settings)
    browser, path = Browser(), f"/queues/{engine.queue}/pause"
    sign_on(browser, subject)
    browser.post("/login/code", {"code": reckoned(secret, 1)})
    session = browser.session
    session[CHECKED_AT] -= 86_400
    session.save()

    page = browser.submit(path, status=403, reason="by hand")
    assert "Six-digit code from the app" in page.text
    assert (
        "This code is wrong, expired or already used. Nothing was changed"
        in browser.submit(path, status=403, reason="x", **{CODE_FIELD: wrong(secret)}).text
    )
    assert not is_paused(engine)
    browser.submit(path, **{"reason": page.fields()["reason"], CODE_FIELD: reckoned(secret, 2)})

    assert is_paused(engine)


@pytest.mark.usefixtures("_still")
def test_a_code_alone_does_not_confirm_where_there_is_a_password(
    provider: Provider, settings: LazySettings, engine: Engine
) -> None:
    subject, secret = with_an_app(provider, settings)
    browser, one, path = Browser(), person(subject), f"/queues/{engine.queue}/pause"
    one.set_password("correct horse battery")
    one.save()
    browser.force_login(one)
    session = browser.session
    session[CHECKED_AT] -= 86_400
    session.save()

    assert browser.post(path, {"reason": "x", CODE_FIELD: reckoned(secret, 1)}).status_code == 403
    assert not is_paused(engine)
    assert browser.post(path, {"reason": "x", FIELD: "correct horse battery"}).status_code == 302
