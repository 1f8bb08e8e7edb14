"""Times are in the zone of the person, by name, with UTC in their titles; charts and fields follow."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.engine import Engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.proof]

OpenConsole = Callable[..., Page]
ZONE = "Asia/Kathmandu"  # 5 hours and 45 minutes ahead of UTC all year
UTC = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
LOCAL = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GMT\+5:45$")


@pytest.fixture
def path(engine: Engine) -> str:
    message_id = engine.send({"order": 7}, delay_seconds=3_600)
    engine.value("select signalbox.aggregate_counters()")
    engine.value("select signalbox.record_history()")
    return f"/queues/{engine.queue}/messages/{message_id}"


def test_times_are_local_until_the_person_chooses_utc(open_console: OpenConsole, path: str) -> None:
    page = open_console(timezone_id=ZONE)
    page.goto(path)
    moment, age = (page.locator(f"main time[data-time={kind}]").first for kind in ("at", "ago"))

    expect(moment).to_have_text(LOCAL)
    expect(moment).to_have_attribute("title", UTC)
    expect(age).to_have_attribute("title", re.compile(rf"{LOCAL.pattern[1:-1]} · {UTC.pattern[1:-1]}"))

    page.locator(".sidebar-foot summary").click()
    with page.expect_response("**/preferences"):
        page.get_by_role("group", name="Times").get_by_role("button", name="UTC").click()
    expect(moment).to_have_text(UTC)
    page.reload()
    expect(moment).to_have_text(UTC)
    expect(moment).to_have_attribute("title", LOCAL)
    page.keyboard.press("u")
    expect(moment).to_have_text(LOCAL)


def test_charts_and_fields_follow_the_zone(open_console: OpenConsole, path: str) -> None:
    page = open_console(timezone_id=ZONE)
    page.goto(path)
    page.get_by_text("Reschedule…").click()
    page.get_by_label("Due").fill("2026-01-31 10:30")
    expect(page.locator("#due-local")).to_have_text("= 2026-01-31 16:15:00 GMT+5:45")
    page.get_by_label("Due").fill("tomorrow")
    expect(page.locator("#due-local")).to_have_text("")

    page.goto("/history?range=15m")
    chart = page.locator("figure[data-form]").first
    expect(chart.locator(".xs span").last).to_have_text(re.compile(r"^\d\d:\d\d GMT\+5:45$"))
    chart.locator("summary").click()
    expect(chart.locator("th").first).to_have_text("Time, GMT+5:45")
    newest = chart.locator("tbody th").first.inner_text()
    chart.locator("svg[tabindex]").press("End")
    expect(chart.locator("output")).to_contain_text(f"{newest} GMT+5:45 · ")


def test_without_javascript_times_are_in_utc(open_console: OpenConsole, path: str) -> None:
    page = open_console(timezone_id=ZONE, java_script_enabled=False)
    page.goto(path)

    expect(page.locator("main time[data-time=at]").first).to_have_text(UTC)
