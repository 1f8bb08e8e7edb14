"""Answers that come in another order than they were asked for: list, address and what is done to both stay together."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from dlq.search.pages import PAGE_ROWS
from tests.browser.conftest import WAITS_AT_MOST_MS
from tests.dlq.dead_letter_scenes import DeadLetterScene

pytestmark = [pytest.mark.browser, pytest.mark.proof]

OpenConsole = Callable[..., Page]
MakeDeadLetterScene = Callable[..., DeadLetterScene]

LOOKS_WITHIN_MS = 15_000
POLL_MS = 20
COUNT = """
window.asked = window.handled = 0;
document.addEventListener("htmx:beforeSend", (event) => {
  window.asked += 1;
  event.detail.xhr.addEventListener("loadend", () => (window.handled += 1));
});
"""


class Answers:
    """Hold back each answer to an htmx request under a path until its release."""

    def __init__(self, page: Page, path: str) -> None:
        self._page = page
        self._held: list[Route] = []
        page.add_init_script(COUNT)
        page.route(lambda url: urlsplit(url).path == path, self._hold)

    def _hold(self, route: Route) -> None:
        if "hx-request" in route.request.headers:
            self._held.append(route)
        else:
            route.continue_()

    def wait_for(self, count: int) -> None:
        """Wait until this number of answers is held back."""
        for _ in range(WAITS_AT_MOST_MS // POLL_MS):
            if len(self._held) >= count:
                return
            self._page.wait_for_timeout(POLL_MS)
        raise AssertionError(f"the page asked {len(self._held)} times, not {count}")

    def let_go(self, number: int) -> None:
        """Give the answer to what was asked as this one, and wait until the page has done with it what it does."""
        before = self._page.evaluate("handled")
        self._held[number].continue_()
        self._page.wait_for_function("before => handled > before", arg=before)


@pytest.fixture
def dead_letters(
    open_console: OpenConsole, make_dead_letter_scene: MakeDeadLetterScene
) -> tuple[Page, Answers, DeadLetterScene]:
    """List of all dead letters at a fixed time, with its pending answers and two of its rows."""
    scene, other = make_dead_letter_scene(), make_dead_letter_scene()
    scene.add_dead(2)
    other.add_dead(PAGE_ROWS + 1)
    page = open_console()
    answers = Answers(page, "/dead-letters")
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.goto("/dead-letters")
    return page, answers, scene


def send_filter(page: Page, text: str) -> None:
    page.fill("#q", text)
    page.press("#q", "Enter")


def shows(page: Page, rows: int, **query: str) -> None:
    """Check the number of rows, and that the address, the next request and bulk actions use this query too."""
    expect(page.locator("table tbody tr")).to_have_count(rows)
    next_look = page.locator("#results").get_attribute("hx-get") or ""
    assert [dict(parse_qsl(urlsplit(address).query)) for address in (page.url, next_look)] == [query, query]
    expect(page.locator("#results form input[type=hidden][name=q]")).to_have_value(query.get("q", ""))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the look first", "the filter first"])
def test_a_filter_sent_during_a_look_is_shown(
    dead_letters: tuple[Page, Answers, DeadLetterScene], order: tuple[int, int]
) -> None:
    page, answers, scene = dead_letters
    page.clock.run_for(LOOKS_WITHIN_MS)
    answers.wait_for(1)
    send_filter(page, scene.filter)
    answers.wait_for(2)

    for number in order:
        answers.let_go(number)

    shows(page, 2, q=scene.filter)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the look first", "the page first"])
def test_a_page_asked_for_during_a_look_is_shown(
    dead_letters: tuple[Page, Answers, DeadLetterScene], order: tuple[int, int]
) -> None:
    page, answers, _ = dead_letters
    link = page.get_by_role("link", name="Next page")
    query = dict(parse_qsl(urlsplit(link.get_attribute("href") or "").query))
    page.clock.run_for(LOOKS_WITHIN_MS)
    answers.wait_for(1)
    link.click()
    answers.wait_for(2)

    for number in order:
        answers.let_go(number)

    expect(page.get_by_role("link", name="Previous page")).to_be_visible()
    shows(page, page.locator("table tbody tr").count(), **query)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the page first", "the filter first"])
def test_a_filter_sent_after_a_page_was_asked_for_is_shown(
    dead_letters: tuple[Page, Answers, DeadLetterScene], order: tuple[int, int]
) -> None:
    page, answers, scene = dead_letters
    page.get_by_role("link", name="Next page").click()
    answers.wait_for(1)
    send_filter(page, scene.filter)
    answers.wait_for(2)

    for number in order:
        answers.let_go(number)

    shows(page, 2, q=scene.filter)


def test_the_page_does_not_look_while_a_filter_is_awaited(dead_letters: tuple[Page, Answers, DeadLetterScene]) -> None:
    page, answers, scene = dead_letters
    send_filter(page, scene.filter)
    answers.wait_for(1)

    page.clock.run_for(3 * LOOKS_WITHIN_MS)
    assert page.evaluate("asked") == 1
    answers.let_go(0)

    shows(page, 2, q=scene.filter)
    page.clock.run_for(LOOKS_WITHIN_MS)
    answers.wait_for(2)


def test_a_click_that_begins_during_a_look_counts(dead_letters: tuple[Page, Answers, DeadLetterScene]) -> None:
    page, answers, _ = dead_letters
    page.clock.run_for(LOOKS_WITHIN_MS)
    answers.wait_for(1)

    page.locator("a[data-row]").first.hover()
    page.mouse.down()
    answers.let_go(0)
    page.mouse.up()

    page.wait_for_url("**/messages/*")


def test_the_page_does_not_look_while_a_click_is_under_way(dead_letters: tuple[Page, Answers, DeadLetterScene]) -> None:
    page, answers, _ = dead_letters
    page.locator("h1").hover()
    page.mouse.down()
    page.clock.run_for(LOOKS_WITHIN_MS)
    assert page.evaluate("asked") == 0

    page.mouse.up()
    page.clock.run_for(LOOKS_WITHIN_MS)

    answers.wait_for(1)
