"""The question for the password in a real browser: readable, usable by keyboard, and nothing that was typed is lost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD, RULES
from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.proof]


def age(page: Page) -> None:
    """Move the last confirmation of the password back by a day."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    session = import_module(settings.SESSION_ENGINE).SessionStore(cookies[settings.SESSION_COOKIE_NAME])
    session["password_checked_at"] -= 86_400
    session.save()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_pause_asks_for_the_password_and_is_done(
    open_console: Callable[..., Page], engine: Engine, complaints: list[str], theme: str
) -> None:
    page = open_console(color_scheme=theme, viewport={"width": 320, "height": 800})
    age(page)
    page.goto(f"/queues/{engine.queue}")
    page.get_by_text("Pause…").click()
    page.fill("#pause-reason", "by hand")
    page.press("#pause-reason", "Enter")

    expect(page.locator("h1")).to_have_text("Confirm your password")
    assert Axe().run(page, options=RULES).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    complaints.clear()  # the browser tells of each page with a status of refusal
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")

    expect(page.locator(".notice")).to_contain_text(f"Paused {engine.queue}.")
    expect(page.locator(".verdict")).to_contain_text("“by hand”")
