"""Hostile text in a real browser: whatever messages, programs and people write, no page runs it or grows by it.

The window itself complains: of a dialog, of an error, and of anything that the content security policy had to stop.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.console.security.conftest import scene_of
from tests.console.security.corpus import FOR_PAGES
from tests.console.security.scenes import Scene, routes

__all__ = ["scene_of"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900), pytest.mark.proof]

NARROW = 320
TEXTS = {**FOR_PAGES, "one long word": "<corpus-x>alert(" + "W" * 70}

OpenConsole = Callable[..., Page]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_page_runs_what_it_shows(
    open_console: OpenConsole, scene_of: Callable[[str], Scene], complaints: list[str], text: str
) -> None:
    scene, page = scene_of(text), open_console(viewport={"width": NARROW, "height": 800})
    shown, wide = 0, {}

    for path in pages(page, scene):
        page.goto(path)
        assert complaints == [], path
        assert page.locator("corpus-x, [corpus-y]").count() == 0, path
        if (width := page.evaluate("document.documentElement.scrollWidth")) > NARROW:
            wide[path] = width
        shown += text[:40] in page.content() or "alert(" in (page.text_content("body") or "")
    assert shown > 20, "the text is hardly anywhere"
    assert wide == {}


def pages(page: Page, scene: Scene) -> list[str]:
    """The addresses that answer with a page; files, parts of pages and what only takes forms are left out."""
    found = []
    for path in [scene.path(route) for route in routes() if route.name != "live"]:
        answer = page.request.get(path)
        if answer.status == 200 and answer.text().startswith("<!doctype html>"):
            found.append(path)
    return found


def test_what_the_policy_refuses_is_a_complaint(open_console: OpenConsole, complaints: list[str]) -> None:
    page, html = open_console(), "<img src=x onerror=alert(1)><b style=color:red>x</b>"

    with page.expect_console_message(lambda said: "404" in said.text):  # the image is asked for, and is not there
        page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", html)
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'alert(1)'}))")
    page.wait_for_function("document.querySelector('script:not([src])') !== null")

    assert any("script-src" in said for said in complaints)
    assert any("style-src" in said for said in complaints)
    assert not [said for said in complaints if said.startswith("dialog")]
    complaints.clear()
