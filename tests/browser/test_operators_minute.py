"""The operator's minute: from a firing alert about dead letters to a running canary, counted in keys and in clicks.

The stranger's path names the one obvious next step of each page: its only main button.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from dlq.jobs.models import Redrive
from dlq.redrives import redrives
from metrics.alerts import receiving
from metrics.alerts.models import Alert
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.metrics.alertmanager import alert, message

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.timeout(900)]

OpenConsole = Callable[..., Page]
REASON = "partner is back"
MAX_KEYS = 20
"""Limit of keys, without those that write the reason."""
MAX_CLICKS = 4

# Page -> the words of its one main button, from the first page of a stranger to the running redrive.
PATH = (
    ("/", "Open alerts"),
    ("/alerts", "Redrive with canary…"),
    ("/redrives/new", "Preview redrive"),
    ("/redrives/plans/", "Start canary: 10 of 12"),
)
MAIN_BUTTONS = """
[...document.querySelectorAll("#main .primary")].filter((one) => one.checkVisibility())
  .map((one) => one.textContent.replace(/\\s+/g, " ").trim())
"""


@pytest.fixture
def firing(scene: DeadLetterScene) -> Iterator[DeadLetterScene]:
    """A queue whose dead letters have fired the only alert."""
    Alert.objects.all().delete()
    for _ in range(12):
        scene.engine.die({"order": 1}, error_class="CardDeclined", error="declined")
    scene.engine.value("select signalbox.aggregate_counters()")
    receiving.receive(message(alert(queue=f"{scene.queue}-dlq", severity="critical")))
    yield scene
    Alert.objects.all().delete()


def test_by_keyboard(open_console: OpenConsole, firing: DeadLetterScene, capsys: pytest.CaptureFixture[str]) -> None:
    """Count from any page; `a` is the main action of the row, and of the page."""
    page = open_console("operator")
    keys = ["g", "a", "j", "a", "a", REASON, "Enter", "a", "Enter"]
    pages = iter(("**/alerts", "**/redrives/new?**", "**/redrives/plans/*", re.compile(r"/redrives/\d+$")))
    for place, key in enumerate(keys):
        if key == REASON:
            expect(page.locator("#id_reason")).to_be_focused()
            page.keyboard.type(REASON)
        else:
            page.keyboard.press(key)
        if place in (1, 3, 6, 8):
            page.wait_for_url(next(pages))

    _tell(capsys, f"by keyboard: {len(keys) - 1} keys and the reason")
    assert len(keys) - 1 <= MAX_KEYS
    _see_the_canary_run(page)


def test_by_mouse(open_console: OpenConsole, firing: DeadLetterScene, capsys: pytest.CaptureFixture[str]) -> None:
    """Count from the firing alert on its page."""
    page = open_console("operator")
    page.goto("/alerts")
    clicks = ["text=Redrive with canary…", "#id_reason", "text=Preview redrive", "#run"]
    for target in clicks:
        page.locator(target).click()
        if target == "#id_reason":
            page.keyboard.type(REASON)

    _tell(capsys, f"by mouse: {len(clicks)} clicks and the reason")
    assert len(clicks) <= MAX_CLICKS
    _see_the_canary_run(page)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_stranger_finds_one_obvious_next_step_on_each_page(
    open_console: OpenConsole, firing: DeadLetterScene, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    page = open_console("operator", viewport={"width": width, "height": 900})
    for address, step in PATH:
        expect(page.locator("#main h1")).to_be_visible()
        assert page.url.split("?")[0].split("/", 3)[3].startswith(address[1:]), page.url
        assert page.evaluate(MAIN_BUTTONS) == [step], address
        _tell(capsys, f"{address}: {step}")
        if address == "/redrives/new":
            page.locator("#id_reason").fill(REASON)
        page.locator("#main .primary:visible").click()
    _see_the_canary_run(page)


def _see_the_canary_run(page: Page) -> None:
    """Run the job as a worker would, until its canary waits for outcomes; the page says so by itself."""
    page.wait_for_url(re.compile(r"/redrives/\d+$"))
    job = Redrive.objects.get(pk=int(page.url.rpartition("/")[2]))
    for _ in range(20):  # a slice of no time sends one batch
        redrives.run_slice(job.pk, seconds=0)
        job.refresh_from_db()
        if job.moved == 10:
            break
    assert (job.state, job.moved, job.reason) == ("running", 10, REASON)
    current = page.locator(".phases [aria-current=step]")
    expect(current).to_contain_text("Canary")
    assert page.evaluate(MAIN_BUTTONS) == []  # the next step is to wait
    redrives.cancel(job.pk, actor="test")


def _tell(capsys: pytest.CaptureFixture[str], words: str) -> None:
    with capsys.disabled():
        print(f"\n{words}", end="")  # noqa: T201
