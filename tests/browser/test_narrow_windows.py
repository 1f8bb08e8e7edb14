"""Narrow windows and the sidebar in a browser: a header of one line, the current entry in sight, groups that stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.dlq.dead_letter_scenes import DeadLetterScene

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.proof]

OpenConsole = Callable[..., Page]
NARROW = {"width": 390, "height": 844}


def box(part: Locator) -> tuple[float, float, float]:
    """Left edge, right edge and height of a part of the page."""
    found = part.bounding_box()
    assert found is not None
    return found["x"], found["x"] + found["width"], found["height"]


@pytest.mark.parametrize("scripts", [True, False])
def test_the_header_is_one_line_and_strips_begin_at_the_current_entry(open_console: OpenConsole, scripts: bool) -> None:
    page = open_console(viewport=NARROW, java_script_enabled=scripts)

    for path in ("/", "/redrives/plans", "/history", "/alerts/notifications", "/audit"):
        page.goto(path)
        assert box(page.locator(".masthead"))[2] < 48, path
        for current in page.locator(":is(.nav, .tabs) [aria-current=page]").all():
            left, right, _ = box(current)
            assert left >= 0, path
            assert right <= NARROW["width"], path


def test_the_menu_of_a_narrow_window_needs_no_scripts(open_console: OpenConsole) -> None:
    page = open_console(viewport=NARROW, java_script_enabled=False)
    api = page.get_by_role("link", name="HTTP API")
    expect(api).not_to_be_visible()

    page.get_by_role("button", name="browser-admin").click()

    expect(api).to_be_visible()
    page.keyboard.press("Escape")
    expect(api).not_to_be_visible()


def test_a_group_of_the_sidebar_stays_as_it_was_left(open_console: OpenConsole) -> None:
    page = open_console()
    audit = page.get_by_role("link", name="Audit log")
    expect(audit).not_to_be_visible()

    with page.expect_response("**/preferences"):
        page.locator("summary", has_text="Admin").click()
    page.reload()

    expect(audit).to_be_visible()
    with page.expect_response("**/preferences"):
        page.locator("summary", has_text="Admin").click()
    page.reload()
    expect(audit).not_to_be_visible()


def test_a_comparison_shows_both_sides_of_a_difference_without_scrolling(
    open_console: OpenConsole, scene: DeadLetterScene
) -> None:
    for number in (1, 2):
        scene.engine.die({"same": "one", "number": number}, error_class="CardDeclined", error="declined")
    [(first,), (second,)] = scene.engine.rows(
        "select message_id from signalbox.dead_letter where source_queue_id = %s", scene.engine.queue_id
    )
    page = open_console(viewport=NARROW)

    page.goto(f"/dead-letters/compare?id={first}&id={second}")

    payload = page.get_by_role("region", name="Payload, side by side")
    assert payload.evaluate("one => one.scrollWidth <= one.clientWidth")
    expect(payload.get_by_text('"number": 1')).to_be_visible()
    expect(payload.get_by_text('"number": 2')).to_be_visible()
    expect(payload.get_by_text('"same": "one"').locator("visible=true")).to_have_count(1)
