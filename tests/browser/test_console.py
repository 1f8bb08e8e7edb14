"""The console in a real browser: live, quiet while one reads, usable without a mouse."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from dlq.jobs.models import Redrive
from dlq.redrives import redrives
from tests.browser.conftest import PASSWORD
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

OpenConsole = Callable[..., Page]


def test_numbers_follow_the_queue_without_a_reload(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}")
    expect(page.locator(".legend").first).to_contain_text("ready 0")
    expect(page.locator("#live-status")).to_contain_text("live")

    engine.send()
    engine.value("select signalbox.aggregate_counters()")

    expect(page.locator(".legend").first).to_contain_text("ready 1")


@pytest.mark.proof
def test_a_notice_leaves_with_a_later_update_or_by_its_button(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.clock.install()
    page.goto(f"/queues/{engine.queue}")
    page.get_by_text("Pause…").click()
    page.fill("#pause-reason", "by hand")
    page.press("#pause-reason", "Enter")
    notice = page.locator("#notices .notice")
    expect(notice).to_contain_text("Paused")

    page.clock.fast_forward(12_000)
    engine.send()
    engine.value("select signalbox.aggregate_counters()")
    expect(page.locator(".legend").first).to_contain_text("ready 1")
    expect(notice).to_have_count(0)

    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("button", name="Dismiss").click()
    expect(notice).to_have_count(0)
    expect(page.locator("main h1")).to_be_focused()


@pytest.mark.proof
def test_selecting_rows_holds_updates_and_says_so(open_console: OpenConsole, scene: DeadLetterScene) -> None:
    scene.add_dead(3)
    page = open_console()
    page.goto(f"/dead-letters?q={scene.filter}")

    page.locator("tbody input[data-pick]").first.check()
    scene.add_dead(1)
    scene.engine.value("select signalbox.aggregate_counters()")

    expect(page.locator("#live-status")).to_have_text("paused (rows selected)")
    expect(page.locator(".verb-bar")).to_contain_text("Redrive 1 selected…")
    page.wait_for_timeout(4_000)  # longer than the page waits between two looks
    expect(page.locator("table tbody tr")).to_have_count(3)
    page.locator("[data-unpick]").click()
    expect(page.locator("table tbody tr")).to_have_count(4)


@pytest.mark.proof
def test_updates_can_be_paused(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}")

    page.get_by_role("button", name="Pause updates").click()

    expect(page.locator("#live-status")).to_contain_text("paused")
    expect(page.get_by_role("button", name="Resume updates")).to_be_visible()


def press_until_focused(page: Page, selector: str) -> None:
    """Press Tab until the focus is there, as a user without a mouse does."""
    for _ in range(120):
        if page.locator(selector).evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not come to {selector}")


@pytest.mark.proof
def test_plan_run_and_outcome_by_keyboard_alone(open_console: OpenConsole, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    page = open_console("operator")
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_url("**/dead-letters")
    page.keyboard.press("/")
    page.keyboard.type(f"queue:{scene.queue}")
    page.keyboard.press("Enter")
    page.wait_for_url("**/dead-letters?q=**")
    expect(page.locator("form.filter.edited")).to_have_count(0)  # the answer is there
    expect(page.locator("table tbody tr")).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.press("j")  # the failure group
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".verb-bar")).to_contain_text("Redrive 1 selected…")

    press_until_focused(page, ".verb-bar button.primary")
    page.keyboard.press("Enter")
    page.wait_for_url("**/redrives/new?**")
    press_until_focused(page, "#id_reason")
    page.keyboard.type("fixed")
    page.keyboard.press("Enter")

    page.wait_for_url("**/redrives/plans/*")
    expect(page.locator("main")).to_contain_text("Redrive 1 message")
    press_until_focused(page, "#run")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/redrives/\d+$"))
    expect(page.locator(".notice").first).to_contain_text("started.")

    job = redrives.run_in_foreground(Redrive.objects.latest("redrive_id").pk)
    (_, handle, *_), *_ = scene.engine.receive(1)
    scene.engine.ack(handle)
    succeeded = page.locator(".legend li", has_text="succeeded").locator("b")
    expect(succeeded).to_have_text("1", timeout=60_000)
    press_until_focused(page, f"a[href='/redrives/{job.pk}/messages?outcome=succeeded']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/messages?outcome=succeeded")
    expect(page.locator("table tbody tr")).to_have_count(1)


@pytest.mark.proof
def test_a_filter_underlines_its_mistake_until_it_is_edited(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()

    page.keyboard.press("/")
    page.keyboard.type("health:poorly")
    page.keyboard.press("Enter")

    expect(page.locator(".mirror mark")).to_have_text("poorly")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("health:healthy")
    page.keyboard.press("Enter")
    expect(page.locator(".mirror")).to_have_count(0)
    page.go_back()
    expect(page.locator("#q")).to_have_value("health:poorly")


@pytest.mark.proof
def test_a_chart_is_read_with_the_arrow_keys(open_console: OpenConsole, engine: Engine) -> None:
    engine.rows(
        "insert into signalbox.queue_history (queue_id, bucket_at, seconds, ready, scheduled, leased, dead, published,"
        " delivered, acked, nacked, dead_lettered, removed)"
        " select %s, date_bin('10 s', now(), '2000-01-01') - n * interval '10 s', 10, n, 0, 0, 0, 0, 0, 0, 0, 0, 0"
        " from generate_series(0, 20) n returning 1",
        engine.queue_id,
    )
    page = open_console()
    page.goto(f"/queues/{engine.queue}")

    page.locator(".plot svg").first.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")

    expect(page.locator(".readout").first).to_contain_text("ready 19")
    expect(page.locator("#live-status")).to_have_text("paused (chart focused)")


@pytest.mark.proof
def test_the_theme_turns_at_once_and_stays(open_console: OpenConsole) -> None:
    page = open_console(color_scheme="light")
    page.get_by_text("Display").click()

    with page.expect_response("**/preferences"):
        page.get_by_role("button", name="Dark").click()

    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark == "rgb(17, 19, 21)"


@pytest.mark.proof
def test_shortcuts_can_be_turned_off(open_console: OpenConsole) -> None:
    page = open_console()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    with page.expect_response("**/preferences"):
        page.get_by_role("button", name="Off").click()
    page.get_by_role("button", name="Close").click()

    page.keyboard.press("?")

    expect(page.get_by_role("dialog")).to_be_hidden()


@pytest.mark.proof
def test_everything_works_without_javascript(open_console: OpenConsole, engine: Engine) -> None:
    engine.send()
    page = open_console(java_script_enabled=False)

    page.fill("#q", engine.queue)
    page.press("#q", "Enter")
    page.locator(f"text={engine.queue}").first.click()
    page.get_by_text("Pause…").click()
    page.fill("#pause-reason", "by hand")
    page.press("#pause-reason", "Enter")

    expect(page.locator(".notice")).to_contain_text(f"Paused {engine.queue}.")
    expect(page.locator(".verdict")).to_contain_text("“by hand”")


@pytest.mark.proof
def test_a_session_that_ends_under_an_open_page_leads_to_the_door(open_console: OpenConsole, engine: Engine) -> None:
    page = open_console()
    page.goto(f"/queues/{engine.queue}")
    page.context.clear_cookies()

    engine.send()
    engine.value("select signalbox.aggregate_counters()")

    page.wait_for_url("**/login?next=**")

    page.fill("#id_username", "browser-admin")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")

    expect(page.locator("h1")).to_contain_text(engine.queue)
