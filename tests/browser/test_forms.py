"""Forms in a real browser: errors get the focus, Back works, and typed text survives the end of the session."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD
from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def log_in(page: Page, role: str = "admin") -> None:
    page.fill("#id_username", f"browser-{role}")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")


def test_a_refused_form_takes_the_focus_and_leaves_back_alone(
    open_console: Callable[..., Page], engine: Engine, complaints: list[str]
) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}/settings")
    page.fill("#id_max_receives", "0")
    page.get_by_role("button", name="Review changes").click()

    expect(page.locator("#form-errors")).to_be_focused()
    page.get_by_role("link", name="Max delivery attempts").click()
    expect(page.locator("#id_max_receives")).to_be_focused()
    complaints.clear()  # the browser reports each page with a status of refusal
    page.goto("/masking")
    answer = page.go_back()

    assert answer is not None
    assert (answer.status, answer.request.method) == (200, "GET")
    expect(page.locator("#id_max_receives")).to_have_value("5")


@pytest.mark.proof
def test_typed_text_survives_the_end_of_the_session(
    open_console: Callable[..., Page], engine: Engine, complaints: list[str]
) -> None:
    page = open_console()
    page.goto("/login")
    log_in(page)  # the browser becomes known, as after a login by hand
    page.goto(f"/queues/{engine.queue}/retire")
    page.fill("#close-reason", "moved to another system")
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.evaluate("htmx.trigger('#results', 'live')")

    expect(page.locator("#session-ended")).to_contain_text("Your session has ended.")
    page.press("#close-reason", "Enter")
    expect(page.locator(".notice")).to_contain_text("Nothing was submitted yet.")
    log_in(page)
    page.get_by_role("button", name="Continue").click()

    expect(page.locator(".notice")).to_contain_text(f"{engine.queue} refuses sends.")
    complaints.clear()
