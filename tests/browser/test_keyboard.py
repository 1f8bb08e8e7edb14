"""The keyboard: rows, places, the search, and the way from an alert to a running redrive."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from metrics.alerts import receiving
from metrics.alerts.models import Alert
from tests.browser.conftest import RULES
from tests.browser.test_every_page import archive_run, paths
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine
from tests.metrics.alertmanager import alert, message

__all__ = ["archive_run", "paths"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

OpenConsole = Callable[..., Page]
LISTS = "#main :is(table.grid > tbody > tr, article.cause)"
MAX_KEYS = 20


class Keys:
    """Keys that a person presses, counted; text that a person has to write is not."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.count = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self._page.keyboard.press(key)
        self.count += len(keys)

    def write(self, text: str) -> None:
        self._page.keyboard.type(text)


@pytest.fixture
def firing(scene: DeadLetterScene) -> Iterator[DeadLetterScene]:
    """A queue whose dead letters have fired an alert."""
    for _ in range(3):
        scene.engine.die({"order": 1}, error_class="CardDeclined", error="declined")
    scene.engine.value("select signalbox.aggregate_counters()")
    receiving.receive(message(alert(queue=f"{scene.queue}-dlq", severity="critical")))
    yield scene
    Alert.objects.filter(queue_name=f"{scene.queue}-dlq").delete()


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


def test_from_a_firing_alert_to_a_running_redrive_by_keyboard(
    open_console: OpenConsole, firing: DeadLetterScene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Count the keys of an operator from any page, without the reason."""
    page = open_console("operator")
    keys = Keys(page)
    keys.press("g", "a")
    page.wait_for_url("**/alerts")
    keys.press("j")
    while firing.queue not in page.evaluate("document.activeElement.closest('article').textContent"):
        page.keyboard.press("j")  # past the alerts of other tests
    keys.press("a")  # Redrive with canary
    page.wait_for_url("**/redrives/new?**")
    expect(page.locator("#id_filter_text")).to_have_value(f'queue:"{firing.queue}-dlq"')
    keys.press("a")
    expect(page.locator("#id_reason")).to_be_focused()
    keys.write("partner is back")
    keys.press("Enter")
    page.wait_for_url("**/redrives/plans/*")
    expect(page.locator("main")).to_contain_text("Redrive 3 messages")
    keys.press("a", "Enter")
    page.wait_for_url(re.compile(r"/redrives/\d+$"))

    with capsys.disabled():
        print(f"\nfrom the alert to the redrive: {keys.count} keys")  # noqa: T201
    assert keys.count <= MAX_KEYS


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
