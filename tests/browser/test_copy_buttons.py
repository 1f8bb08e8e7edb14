"""Copy buttons put an id, an address or a payload on the clipboard; without JavaScript they are not shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.proof]

OpenConsole = Callable[..., Page]


@pytest.fixture
def path(engine: Engine) -> str:
    message_id = engine.send({"order": 7})
    engine.nack(engine.receive_one()[1], reason="rejected", error_class="BadOrder")
    return f"/queues/{engine.queue}/messages/{message_id}"


def test_each_button_copies_its_text(open_console: OpenConsole, path: str) -> None:
    page = open_console(permissions=["clipboard-read", "clipboard-write"])
    page.goto(path)
    texts = {"Copy id": path.rpartition("/")[2], "Copy link": page.url, "Copy payload": '{\n  "order": 7\n}'}

    for label, text in texts.items():
        button = page.get_by_role("button", name=label)
        button.click()
        expect(page.get_by_role("button", name="Copied").first).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == text
        expect(button).to_be_visible()


def test_without_javascript_no_button_is_shown(open_console: OpenConsole, path: str) -> None:
    page = open_console(java_script_enabled=False)
    page.goto(path)

    expect(page.locator("button.copy").first).to_be_hidden()
