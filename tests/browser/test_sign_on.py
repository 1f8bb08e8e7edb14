"""Sign-on in a real browser, between two real servers: the button, the provider's page, and back; then once more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import import_module

import pytest
from allauth.mfa.totp.internal import auth as totp
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import RULES, VIOLATIONS, WAITS_AT_MOST_MS
from tests.console.security import oidc_provider
from tests.console.security.sign_ons import new_subject
from tests.console.servers import Server, console_server
from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.proof]


@pytest.fixture(scope="module")
def provider() -> Iterator[oidc_provider.Provider]:
    with oidc_provider.running() as made:
        yield made


@pytest.fixture(scope="module")
def console(dsn: str, provider: oidc_provider.Provider) -> Iterator[Server]:
    """A console that knows the provider, configured as in earnest."""
    variables = {
        "OIDC_ISSUER": provider.url,
        "OIDC_NAME": "Acme",
        "OIDC_CLIENT_ID": oidc_provider.CLIENT_ID,
        "OIDC_CLIENT_SECRET": oidc_provider.CLIENT_SECRET,
        "OIDC_ROLES": "ops=operator,leads=admin",
        "SECOND_FACTOR": "optional",
        "SECRET_KEY": settings.SECRET_KEY,
    }
    with console_server(dsn, **variables) as server:
        yield server


@pytest.fixture
def page(commits: None, console: Server, chromium: Browser) -> Iterator[Page]:
    """A window before the login; what it complains of fails the test."""
    complaints: list[str] = []
    context = chromium.new_context(
        base_url=console.url, viewport={"width": 320, "height": 800}, reduced_motion="reduce"
    )
    context.add_init_script(VIOLATIONS)
    page = context.new_page()
    expect.set_options(timeout=WAITS_AT_MOST_MS)
    page.set_default_timeout(WAITS_AT_MOST_MS)
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
    User.objects.filter(username__startswith="on-").delete()
    assert [one for one in complaints if "403" not in one and "favicon" not in one and "404" not in one] == []


def is_readable(page: Page) -> None:
    assert Axe().run(page, options=RULES).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def at_the_provider(page: Page, subject: str) -> None:
    expect(page).to_have_title("Provider")
    page.get_by_label("Who").fill(subject)
    page.get_by_role("button", name="Sign in").click()


def test_the_whole_way_by_keyboard_and_once_more_before_what_is_hard_to_take_back(
    page: Page, provider: oidc_provider.Provider, engine: Engine
) -> None:
    subject = new_subject(provider, "leads")
    page.goto(f"/queues/{engine.queue}")
    is_readable(page)
    page.get_by_role("button", name="Sign in with Acme").focus()
    page.keyboard.press("Enter")
    at_the_provider(page, subject)
    expect(page.locator("h1")).to_contain_text(engine.queue)

    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    session = import_module(settings.SESSION_ENGINE).SessionStore(cookies[settings.SESSION_COOKIE_NAME])
    session["password_checked_at"] -= 86_400
    session.save()
    page.get_by_text("Pause…").click()
    page.fill("#pause-reason", "by hand")
    page.press("#pause-reason", "Enter")
    expect(page.locator("h1")).to_have_text("Confirm your identity")
    is_readable(page)
    page.keyboard.press("Enter")
    at_the_provider(page, subject)
    expect(page.locator("h1")).to_have_text("Continue")
    is_readable(page)
    page.keyboard.press("Enter")

    expect(page.locator(".notice")).to_contain_text(f"Paused {engine.queue}.")
    expect(page.locator(".verdict")).to_contain_text("“by hand”")


def test_an_app_is_set_up_from_the_picture_or_the_key(page: Page, provider: oidc_provider.Provider) -> None:
    page.goto("/login?next=/account")
    page.get_by_role("button", name="Sign in with Acme").click()
    at_the_provider(page, new_subject(provider, "ops"))
    page.get_by_role("button", name="Set up second factor").click()

    expect(page.get_by_role("img", name="The key as a picture")).to_be_visible()
    is_readable(page)
    secret = "".join(page.locator("#results code").inner_text().split())
    # The next code is taken already, and for longer than the one of now.
    page.get_by_label("Code").fill(totp.format_hotp_value(totp.hotp_value(secret, int(time.time() // 30) + 1)))
    page.keyboard.press("Enter")

    expect(page.locator(".paper code")).to_have_count(10)
    is_readable(page)


def test_a_user_without_a_role_sees_a_notice(page: Page, provider: oidc_provider.Provider) -> None:
    page.goto("/login")
    page.get_by_role("button", name="Sign in with Acme").click()
    at_the_provider(page, new_subject(provider, "strangers"))

    expect(page.get_by_role("alert")).to_contain_text("says nothing that gives you a role here")
    is_readable(page)
