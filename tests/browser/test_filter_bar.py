"""The filter bar in a real browser: suggestions by keyboard, saved filters and exports from their menus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import RULES
from tests.dlq.dead_letter_scenes import DeadLetterScene

pytestmark = [pytest.mark.browser, pytest.mark.proof]

OpenConsole = Callable[..., Page]


def options(page: Page) -> list[str]:
    return page.locator("#q-options [role=option] code").all_text_contents()


def test_a_filter_is_put_together_by_keyboard_alone(open_console: OpenConsole, scene: DeadLetterScene) -> None:
    scene.add_dead(2, error_class="Browser.Rare", payload={"browser": {"kind": "a b"}})
    page = open_console("operator")
    page.goto("/dead-letters")
    field = page.locator("#q")
    page.keyboard.press("/")
    expect(field).to_have_attribute("role", "combobox")

    page.keyboard.type("cla")
    expect(page.locator("#q-options [role=option] code")).to_have_text(["class:"])
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "q-option-1")
    page.keyboard.press("Enter")
    expect(field).to_have_value("class:")
    page.keyboard.type("browser.r")
    expect(page.locator("#q-options [role=option] code")).to_have_text(["Browser.Rare"])
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.type(" payload.browser.")
    expect(page.locator("#q-options [role=option] code")).to_have_text(["payload.browser.kind:"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#q-options [role=option] code")).to_have_text(['"a b"'])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(field).to_be_focused()
    expect(field).to_have_value('class:Browser.Rare payload.browser.kind:"a b"')
    page.keyboard.press("Enter")

    expect(page.locator("table tbody tr")).to_have_count(2)
    expect(page.locator("#q-options")).to_be_hidden()


def test_what_was_chosen_stays_chosen_when_newer_suggestions_come(open_console: OpenConsole) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page = open_console()
    page.goto("/dead-letters")
    page.keyboard.press("/")
    page.keyboard.type("f")
    offered = page.locator("#q-options [role=option] code")
    expect(offered.get_by_text("failed:", exact=True)).to_be_visible()
    expect(offered.get_by_text("fp:", exact=True)).to_be_visible()
    names = offered.all_text_contents()  # queues of other tests are among them

    page.route("**/filter-suggestions?**", hold)
    with page.expect_request("**/filter-suggestions?**"):
        page.keyboard.type("a")
    for _ in range(names.index("failed:") + 1):
        page.keyboard.press("ArrowDown")
    held[0].continue_()
    expect(offered.get_by_text("fp:", exact=True)).to_have_count(0)
    expect(page.locator("#q-options [aria-selected=true] code")).to_have_text("failed:")
    page.keyboard.press("Enter")

    expect(page.locator("#q")).to_have_value("failed:")


def test_tab_leaves_the_field_while_nothing_is_chosen(open_console: OpenConsole) -> None:
    page = open_console()
    page.goto("/dead-letters")
    page.keyboard.press("/")
    page.keyboard.type("re")
    expect(page.locator("#q-options")).to_be_visible()

    page.keyboard.press("Tab")

    expect(page.locator("#q")).not_to_be_focused()
    expect(page.locator("#q")).to_have_value("re")


def test_escape_closes_the_list_first_and_leaves_the_field_then(open_console: OpenConsole) -> None:
    page = open_console()
    page.goto("/dead-letters")
    page.keyboard.press("/")
    page.keyboard.type("re")
    expect(page.locator("#q-options")).to_be_visible()

    page.keyboard.press("Escape")
    expect(page.locator("#q-options")).to_be_hidden()
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#q")).to_have_value("re")
    page.keyboard.press("Escape")
    expect(page.locator("#q")).not_to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_open_list_and_menus_are_accessible(open_console: OpenConsole, scene: DeadLetterScene, theme: str) -> None:
    scene.add_dead(2)
    page = open_console(color_scheme=theme, viewport={"width": 1280, "height": 900})
    page.goto(f"/dead-letters?q={scene.filter}")
    page.get_by_text("Export", exact=True).click()
    found = {"export": _violations(page)}
    page.get_by_text("Saved", exact=True).click()
    found["saved"] = _violations(page)
    page.locator("#q").fill("")
    page.locator("#q").press("ArrowDown")
    expect(page.locator("#q-options")).to_be_visible()
    page.locator("#q").press("ArrowDown")
    found["suggestions"] = _violations(page)

    told = {
        name: [(one["id"], [node["html"] for node in one["nodes"]]) for one in some] for name, some in found.items()
    }
    assert told == {"export": [], "saved": [], "suggestions": []}


def _violations(page: Page) -> list[Any]:
    """All violations, but for the size of buttons in the list: an open menu covers a part of them."""
    sizes_apart = {**RULES, "rules": {"target-size": {"enabled": False}}}
    return [
        *Axe().run(page, context={"exclude": [["table"]]}, options=RULES).response["violations"],
        *Axe().run(page, context="table", options=sizes_apart).response["violations"],
    ]


@pytest.mark.parametrize("width", [320, 1280])
def test_open_menus_do_not_scroll_sideways(open_console: OpenConsole, scene: DeadLetterScene, width: int) -> None:
    scene.add_dead(2)
    page = open_console(viewport={"width": width, "height": 800})
    page.goto(f"/dead-letters?q={scene.filter}")
    for name in ("Export", "Saved"):
        page.get_by_text(name, exact=True).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_what_was_filtered_is_saved_and_exported(open_console: OpenConsole, scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    page = open_console("operator")
    page.goto("/dead-letters")
    page.locator("#q").fill(scene.filter)
    page.locator("#q").press("Enter")
    expect(page.locator("table tbody tr")).to_have_count(3)

    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename.endswith(".csv")
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 4

    page.get_by_text("Saved", exact=True).click()
    expect(page.locator("#saved-text")).to_have_value(scene.filter)
    page.locator("#saved-name").fill(f"Mine of {scene.queue}")
    page.locator("#saved-name").press("Enter")

    expect(page.locator(".notice").first).to_contain_text(f"Saved this filter as Mine of {scene.queue}")
    expect(page.locator("table tbody tr")).to_have_count(3)


def test_the_bar_is_a_plain_field_without_javascript(open_console: OpenConsole, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    page = open_console("operator", java_script_enabled=False)
    page.goto("/dead-letters")
    page.fill("#q", scene.filter)
    page.press("#q", "Enter")
    expect(page.locator("table tbody tr")).to_have_count(2)

    page.get_by_text("Saved", exact=True).click()
    page.fill("#saved-name", f"Plain {scene.queue}")
    page.press("#saved-name", "Enter")

    expect(page.locator(".notice").first).to_contain_text(f"Saved this filter as Plain {scene.queue}")
