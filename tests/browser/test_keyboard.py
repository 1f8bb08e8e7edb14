"""The keyboard: rows, places and the search. `test_operators_minute.py` walks from an alert to a redrive."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import RULES
from tests.browser.test_every_page import archive_run, paths
from tests.engine import Engine

__all__ = ["archive_run", "paths"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

OpenConsole = Callable[..., Page]
LISTS = "#main :is(table.grid > tbody > tr, article.cause)"


@pytest.mark.proof
def test_the_search_leads_to_a_queue_and_gives_the_focus_back(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto("/audit")
    page.locator("#q").fill("typed")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search")
    expect(field).to_be_focused()
    expect(page.get_by_role("option", name="Alerts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#q")).to_have_value("typed")

    page.keyboard.press("Control+k")
    page.keyboard.type("alerts")
    page.keyboard.press("Control+a")
    page.keyboard.type(engine.queue)
    option = page.get_by_role("option", name=engine.queue, exact=True)
    expect(option).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", option.get_attribute("id") or "")
    assert Axe().run(page, options=RULES).response["violations"] == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**/queues/{engine.queue}")


@pytest.mark.proof
def test_no_shortcut_fires_while_a_person_types(open_console: OpenConsole) -> None:
    page = open_console()
    page.goto("/dead-letters")

    page.locator("#q").focus()
    page.keyboard.type("gajkxap?")

    expect(page.locator("#q")).to_have_value("gajkxap?")
    expect(page.locator("#shortcuts")).to_be_hidden()
    assert page.url.endswith("/dead-letters")


@pytest.mark.proof
def test_every_list_is_walked_row_by_row(open_console: OpenConsole, paths: list[str]) -> None:
    page = open_console()
    stuck, walked = [], 0
    for path in paths:
        page.goto(path)
        rows = page.evaluate(f"[...document.querySelectorAll('{LISTS}')].filter((row) => row.checkVisibility()).length")
        page.evaluate("document.activeElement.blur()")
        seen = []
        for _ in range(min(rows, 5)):
            page.keyboard.press("j")
            seen.append(page.evaluate("document.activeElement.closest('tr, article')?.textContent"))
        page.keyboard.press("k")
        walked += len(seen)
        if None in seen or len(set(seen)) < len(seen):
            stuck.append(path)
    assert stuck == []
    assert walked > 30


@pytest.mark.proof
def test_every_shortcut_of_the_help_opens_its_page(open_console: OpenConsole) -> None:
    page = open_console()
    places = page.evaluate(
        "[...document.querySelectorAll('[data-action=go]')]"
        ".map((help) => [help.dataset.keys, help.querySelector('a').getAttribute('href')])"
    )
    assert len(places) > 10
    for keys, address in places:
        for key in keys.split():
            page.keyboard.press(key)
        page.wait_for_url(f"**{address}")
