"""A page that is open while the database goes and comes back: it says so where it stands, and goes on by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from signalbox import Client
from tests.browser.conftest import RULES, VIOLATIONS, WAITS_AT_MOST_MS, chromium
from tests.console.servers import Server
from tests.proof.outages.conftest import client, key, one_console, one_server, queue, server
from tests.proof.outages.own_server import PASSWORD, OwnServer

__all__ = ["chromium", "client", "key", "one_console", "one_server", "queue", "server"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900), pytest.mark.proof]

OF_AN_OUTAGE = ("the server responded with a status of 503", "Response Status Error Code 503", "ERR_CONNECTION_REFUSED")


@pytest.fixture
def page(chromium: Browser, one_console: Server, server: OwnServer) -> Iterator[Page]:
    """An administrator who has logged in; what the page complains of beside the outage fails the test."""
    complaints: list[str] = []
    window = {"width": 320, "height": 800}
    context = chromium.new_context(base_url=one_console.url, reduced_motion="reduce", viewport=window)  # type: ignore[arg-type]
    context.add_init_script(VIOLATIONS)
    expect.set_options(timeout=WAITS_AT_MOST_MS)
    page = context.new_page()
    page.set_default_timeout(WAITS_AT_MOST_MS)
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto("/login")
    page.fill("input[name=username]", "ada")
    page.fill("input[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Queues")
    yield page
    context.close()
    assert [one for one in complaints if not any(words in one for words in OF_AN_OUTAGE)] == []


def test_an_open_page_stays_and_goes_on(page: Page, server: OwnServer, queue: str) -> None:
    page.goto(f"/queues/{queue}")
    expect(page.locator("#live-status")).to_contain_text("live")
    server.stop()

    notice = page.locator("#outage")
    expect(notice).to_contain_text("The database cannot be reached.")
    expect(notice).to_contain_text("tries again by itself")
    expect(page.locator("h1")).to_have_text(queue)
    expect(page.locator("#results")).to_be_visible()
    assert Axe().run(page, options=RULES).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    server.start()

    expect(notice).to_be_empty()
    with Client(server.url) as client:
        client.send(queue, "x")
    expect(page.locator("#results")).to_contain_text("1")
    expect(page.locator("#live-status")).to_contain_text("live")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_that_was_asked_for_comes_by_itself(page: Page, server: OwnServer, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    server.stop()
    page.goto("/audit")

    expect(page.locator("h1")).to_have_text("The database cannot be reached")
    expect(page.locator("#recovery")).to_contain_text("asks every three seconds")
    assert Axe().run(page, options=RULES).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    server.start()

    expect(page.locator("h1")).to_have_text("Audit log")


def test_what_was_sent_is_not_sent_again_by_itself(page: Page, server: OwnServer, queue: str) -> None:
    page.goto(f"/queues/{queue}/send")
    page.fill("[name=payload]", '{"a": 1}')
    server.stop()
    page.get_by_role("button", name=f"Send to {queue}").click()

    expect(page.locator("h1")).to_have_text("The database cannot be reached")
    expect(page.locator("main")).to_contain_text("Nothing was changed: send it again")
    server.start()
    expect(page.locator("#recovery")).to_have_text("The database answers again.")

    with Client(server.url) as client:
        assert client.receive(queue, 10) == []


def test_a_failed_login_shows_when_to_try_again(page: Page, server: OwnServer) -> None:
    """The login page appears without the database and does not mention it."""
    page.context.clear_cookies()
    page.goto("/login")
    page.fill("input[name=username]", "ada")
    page.fill("input[name=password]", PASSWORD)
    server.stop()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("The database cannot be reached")

    for _ in range(2):
        with page.expect_response("**/healthz"):
            pass
    expect(page.locator("#recovery")).to_contain_text("asks every three seconds")
    server.start()
    expect(page.locator("#recovery")).to_have_text("The database answers again.")


def test_maintenance_is_said_on_open_pages(page: Page, server: OwnServer, queue: str) -> None:
    page.goto(f"/queues/{queue}")
    server.run("maintenance", "on", "--reason", "New disks.", "--until", "1h")
    try:
        expect(page.locator("#conditions")).to_contain_text("Maintenance by manage.py, until")
        assert Axe().run(page, options=RULES).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
    finally:
        server.run("maintenance", "off")
    expect(page.locator("#conditions")).to_be_empty()
