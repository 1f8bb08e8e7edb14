"""The keyboard focus stays where a person put it, whatever the page does by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.live_updates import LiveAnswers, focus_lost, updates_in_time
from tests.browser.test_every_page import archive_run, paths
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine

__all__ = ["archive_run", "paths"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

OpenConsole = Callable[..., Page]
LIVE = "[data-live-queues]"
BESIDE = "#sidebar-nav, #conditions"
LISTEN = """
window.said = [];
const changes = { childList: true, characterData: true, subtree: true };
for (const one of document.querySelectorAll("[aria-live], [role=status], [role=alert]"))
  new MutationObserver(() => said.push(one.outerHTML)).observe(one, changes);
"""


@pytest.fixture
def dead_letters(open_console: OpenConsole, scene: DeadLetterScene) -> tuple[Page, LiveAnswers, DeadLetterScene]:
    """The list of some dead letters, and its live answers."""
    scene.add_dead(2)
    scene.engine.value("select signalbox.aggregate_counters()")
    page = open_console()
    answers = LiveAnswers(page)
    page.goto(f"/dead-letters?q={scene.filter}")
    return page, answers, scene


def test_everything_on_a_list_keeps_the_focus_over_updates(
    dead_letters: tuple[Page, LiveAnswers, DeadLetterScene],
) -> None:
    page, answers, scene = dead_letters
    before = answers.record()
    scene.add_dead(1)  # a row comes before those that are there
    answers.play(answers.record(), before)

    assert focus_lost(page, f"{LIVE}, {BESIDE}", updates=2) == []


@pytest.mark.proof
def test_after_its_row_is_gone_the_focus_is_on_the_row_in_its_place(
    dead_letters: tuple[Page, LiveAnswers, DeadLetterScene],
) -> None:
    page, answers, scene = dead_letters
    with_newest = answers.record()
    scene.add_dead(1)
    newest = answers.record()
    answers.play(newest, with_newest)
    page.evaluate("update()")

    page.locator("[data-row]").first.focus()
    page.evaluate("update()")

    expect(page.locator("[data-row]").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/messages/*")


@pytest.mark.proof
def test_after_the_last_row_is_gone_the_focus_is_on_the_heading(
    dead_letters: tuple[Page, LiveAnswers, DeadLetterScene],
) -> None:
    page, answers, _ = dead_letters
    page.locator("[data-row]").first.focus()
    answers.play(page.request.get("/dead-letters?q=class:Nothing", headers={"HX-Request": "true"}).text())

    page.evaluate("update()")

    expect(page.locator("#results h2").first).to_be_focused()


@pytest.mark.proof
def test_an_update_without_news_announces_nothing(dead_letters: tuple[Page, LiveAnswers, DeadLetterScene]) -> None:
    page, answers, _ = dead_letters
    answers.play(answers.record())
    page.evaluate("update()")
    page.evaluate(LISTEN)

    page.evaluate("(async () => { await update(); await update(); })()")

    assert page.evaluate("said") == []


@pytest.mark.proof
def test_what_a_person_unfolded_and_scrolled_stays(open_console: OpenConsole, engine: Engine) -> None:
    message_id = engine.send({"a": {"b": {"c": {"d": ["long"] * 40}}}})
    page = open_console()
    answers = LiveAnswers(page)
    page.goto(f"/queues/{engine.queue}/messages/{message_id}")
    page.get_by_text("As text", exact=True).click()
    text = page.locator("details.disclosure pre").first
    text.evaluate("one => (one.scrollTop = 40)")
    answers.play(answers.record())

    page.evaluate("update()")

    expect(text).to_be_visible()
    assert text.evaluate("one => one.scrollTop") == 40


@pytest.mark.proof
def test_a_link_to_a_part_of_a_page_leads_the_focus_to_its_heading(open_console: OpenConsole) -> None:
    page = open_console()
    page.goto("/v1/docs")

    page.get_by_role("link", name="Problems").last.click()

    assert page.evaluate("document.activeElement.matches('h1, h2, h3')")


@pytest.mark.proof
def test_the_summary_of_mistakes_gets_the_focus(open_console: OpenConsole, complaints: list[str]) -> None:
    page = open_console()
    page.goto("/new-queue")
    page.locator("main form").first.evaluate("form => (form.noValidate = true)")

    page.locator("main form button.primary").first.click()

    expect(page.locator("#form-errors")).to_be_focused()
    page.locator("#form-errors a").first.click()
    expect(page.locator("[aria-invalid=true]").first).to_be_focused()
    complaints.clear()  # the browser reports the status 422


@pytest.mark.proof
def test_everything_on_every_live_page_keeps_the_focus_for_half_a_minute(
    open_console: OpenConsole, paths: list[str], engine: Engine
) -> None:
    page = open_console()
    answers = LiveAnswers(page)
    lost, pages = {}, 0
    for path in paths:
        page.goto(path)
        if not page.locator(LIVE).count():
            continue
        pages += 1
        before = answers.record()
        engine.send()
        engine.die({"number": pages}, error_class="TimeoutError", error="late")
        answers.play(answers.record(), before)
        if found := focus_lost(page, LIVE, updates_in_time(page)):
            lost[path] = found
    assert lost == {}
    assert pages > 25
