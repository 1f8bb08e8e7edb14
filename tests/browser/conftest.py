"""A real browser in front of a real server, over the test database."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.servers import console_server
from tests.dlq.dead_letter_scenes import make_dead_letter_scene, scene

__all__ = ["make_dead_letter_scene", "scene"]

# Playwright drives its own event loop in this thread; Django may use the database beside it.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
PASSWORD = "correct horse battery"
VIOLATIONS_ALONE = {"resultTypes": ["violations"]}  # what passes takes longer to tell than to find
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], **VIOLATIONS_ALONE}
WAITS_AT_MOST_MS = 90_000
# Said aloud, so that whatever the policy refuses is a complaint like any other; the policy does not apply to it.
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI} ${event.sourceFile}`));
"""


def user_of(role: str) -> User:
    """A person of this role, whose password is PASSWORD."""
    person, _ = User.objects.get_or_create(username=f"browser-{role}")
    person.set_password(PASSWORD)
    person.save()
    person.groups.set([Group.objects.get(name=role)])
    return person


@pytest.fixture(scope="session")
def console_url(dsn: str) -> Iterator[str]:
    """The address of a console that serves the test database."""
    with console_server(dsn) as server:
        yield server.url


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module, ended with it: while Playwright lives no other event loop can run in this thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"], timeout=WAITS_AT_MOST_MS
        )
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """Complaints of all windows as they arrive; a test that provokes some removes them."""
    return []


@pytest.fixture
def open_console(
    commits: None, console_url: str, chromium: Browser, complaints: list[str]
) -> Iterator[Callable[..., Page]]:
    """Open a window in which a user of a role is logged in; a complaint of the window fails the test.

    That is errors of scripts, what the content security policy refused, and any dialog: the console opens none.
    """
    contexts = []

    def _open(role: str = "admin", **options: object) -> Page:
        session = Client()
        session.force_login(user_of(role))
        still = {"reduced_motion": "reduce", **options}  # colours are measured while nothing moves
        context = chromium.new_context(base_url=console_url, **still)  # type: ignore[arg-type]
        contexts.append(context)
        cookie = session.cookies[settings.SESSION_COOKIE_NAME]
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": console_url}])
        context.set_default_timeout(WAITS_AT_MOST_MS)
        context.add_init_script(VIOLATIONS)
        page = context.new_page()
        expect.set_options(timeout=WAITS_AT_MOST_MS)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto("/")
        return page

    yield _open
    for context in contexts:
        context.close()
    assert complaints == []
