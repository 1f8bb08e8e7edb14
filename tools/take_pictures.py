"""Take the pictures of the README from a running demo: `PORT=8000 python -m tools.take_pictures`.

The demo needs some minutes of traffic first, so that each page has something to show.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BASE = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
WINDOW = {"width": 1440, "height": 900}


def main() -> None:
    """Log in as admin, and take each picture in a window of 1440 by 900."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(base_url=BASE, viewport=WINDOW, reduced_motion="reduce")  # type: ignore[arg-type]
        _log_in(page)
        for name, path in (("overview", "/"), ("why", "/queues/ledger-export"), ("failure-groups", "/dead-letters")):
            page.goto(path)
            _take(page, name)
        _redrive(page)
        browser.close()


def _log_in(page: Page) -> None:
    page.goto("/login")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", "signalbox")
    page.press("[name=password]", "Enter")
    page.wait_for_load_state()


def _redrive(page: Page) -> None:
    """Plan a redrive of the first failure group, and run it."""
    page.locator("main").get_by_role("link", name="Redrive").first.click()
    page.fill("[name=reason]", "The cause is repaired.")
    page.fill("[name=rate_per_second]", "5")
    page.locator("main form button.primary").first.click()
    page.wait_for_load_state()
    _take(page, "plan")
    page.locator("main form button.primary").first.click()
    page.wait_for_timeout(3_000)  # for some outcomes
    _take(page, "redrive")


def _take(page: Page, name: str) -> None:
    page.wait_for_timeout(1_000)  # for live updates
    page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
