"""Wide windows in a browser: pages keep their order, and compared lines stand under each other without gaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.proof]

OpenConsole = Callable[..., Page]
WIDE = {"width": 1440, "height": 900}
LEFT_EDGES = "parts => new Set(parts.map(part => Math.round(part.getBoundingClientRect().left))).size"
MAX_LINE_PIXELS = 30


def test_the_form_of_the_login_stands_above_its_advice(open_console: OpenConsole) -> None:
    page = open_console(viewport=WIDE)
    page.context.clear_cookies()
    page.goto("/login")

    parts = page.locator(".panel > :is(form, p)")

    assert parts.count() == 2
    assert parts.evaluate_all(LEFT_EDGES) == 1


def test_compared_lines_have_the_height_of_a_line(open_console: OpenConsole, engine: Engine) -> None:
    for number in (1, 2):
        engine.die({"order": {"id": number, "lines": [1]}}, error="late")
    ids = engine.rows("select message_id from signalbox.dead_letter where source_queue_id = %s", engine.queue_id)
    page = open_console(viewport=WIDE)
    page.goto(f"/dead-letters/compare?id={ids[0][0]}&id={ids[1][0]}")

    heights = page.locator(".compare tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")

    assert heights
    assert max(heights) <= MAX_LINE_PIXELS
