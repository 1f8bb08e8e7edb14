"""The overview: an operator sees in one look which queue hurts, and why."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connection
from django.test.utils import CaptureQueriesContext

from metrics.diagnosis.reading import QUERIES as EVIDENCE_QUERIES
from queues.control import queues
from tests.console.browsers import Browser
from tests.dlq.dead_letter_scenes import DeadLetterScene
from tests.engine import Engine


def row(browser: Browser, queue: str) -> str:
    """Only row of a queue, as text."""
    (text,) = browser.see("/", q=f"queue:{queue}").rows()
    return text


def test_a_queue_at_rest_says_nothing(viewer: Browser, engine: Engine) -> None:
    assert row(viewer, engine.queue).startswith(f"healthy {engine.queue} 0 0 0 — 0.0 0.0")


def test_dead_letters_above_the_threshold_are_the_worst(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(2)
    scene.engine.value("select signalbox.aggregate_counters()")
    scene.engine.value("select signalbox.record_history()")

    text = row(viewer, scene.queue)

    assert text.startswith("breaching")
    assert "2 dead letters (limit 0)." in text
    assert "2 in 10 m" in text


def test_dead_letters_within_the_threshold_do_not_hurt(
    viewer: Browser, make_dead_letter_scene: Callable[..., DeadLetterScene]
) -> None:
    scene = make_dead_letter_scene(alert_dead_letters=5)
    scene.add_dead(5)

    assert row(viewer, scene.queue).startswith("healthy")


def test_a_queue_without_consumers_is_marked(viewer: Browser, engine: Engine) -> None:
    engine.send()
    engine.send()

    text = row(viewer, engine.queue)

    assert text.startswith("watch")
    assert "No consumer seen for 24 h" in text


def test_a_paused_queue_says_by_whom_and_why(viewer: Browser, engine: Engine) -> None:
    queues.pause_queue(engine.queue, actor="ana", reason="printer <b>on fire</b>")

    page = viewer.see("/", q=f"queue:{engine.queue}")

    assert page.rows()[0].startswith("paused")
    assert "Paused by ana," in page.text
    assert "“printer <b>on fire</b>”" in page.text
    assert "<b>on fire" not in page.html


def test_the_worst_come_first(viewer: Browser, make_dead_letter_scene: Callable[..., DeadLetterScene]) -> None:
    calm, bad = make_dead_letter_scene(), make_dead_letter_scene()
    bad.add_dead(1)

    names = [text.split()[1] for text in viewer.see("/", q=f"queue:{calm.queue},{bad.queue}").rows()]

    assert names.index(bad.queue) < names.index(calm.queue)


def test_the_title_and_the_icon_turn_when_something_breaches(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(1)

    page = viewer.see("/")

    assert page.title.startswith("▲ ")
    assert page.one("link", rel="icon").attributes["href"].endswith("favicon-alert.svg")


def test_the_filter_narrows_by_tenant_and_health(viewer: Browser, engine: Engine) -> None:
    queues.create_queue(f"{engine.queue}-b", tenant="Tenant <i>B</i>")

    page = viewer.see("/", q='tenant:"tenant <i>b</i>" health:healthy')

    assert [text.split()[1] for text in page.rows()] == [f"{engine.queue}-b"]
    assert "Tenant <i>B</i>" in page.text
    assert "<i>B" not in page.html


def test_dead_letter_queues_show_when_asked_for(viewer: Browser, scene: DeadLetterScene) -> None:
    scene.add_dead(3)

    assert [text.split()[1] for text in viewer.see("/", q=scene.queue).rows()] == [scene.queue]
    assert f"{scene.queue}-dlq" in viewer.see("/", q=f"{scene.queue} is:dlq").rows()[0]


def test_the_consoles_own_queues_show_when_asked_for_or_in_trouble(viewer: Browser, engine: Engine) -> None:
    own = f"{engine.queue}-own"
    queues.create_queue(own, tenant="system")

    assert [text.split()[1] for text in viewer.see("/", q=engine.queue).rows()] == [engine.queue]
    assert own in viewer.see("/", q=f"{engine.queue} is:system").rows()[0]
    assert own in viewer.see("/", q=f"{engine.queue} tenant:system").rows()[0]
    queues.pause_queue(own, actor="ann", reason="")
    assert len(viewer.see("/", q=engine.queue).rows()) == 2


def test_a_mistake_in_the_filter_is_underlined_where_it_stands(viewer: Browser, engine: Engine) -> None:
    page = viewer.see("/", q=f"{engine.queue} helth:breaching")

    assert page.one("mark").text == "helth"
    assert "Unknown key helth:. Did you mean health:? Expected one of queue, tenant, health, is." in page.text
    assert page.one("input", id="q").attributes["aria-invalid"] == "true"


def test_a_value_that_cannot_be_is_a_mistake(viewer: Browser, engine: Engine) -> None:
    page = viewer.see("/", q="health:poorly")

    assert page.one("mark").text == "poorly"
    assert "one of breaching, watch, paused, healthy" in page.text


def test_no_queue_found_says_what_to_do(viewer: Browser, engine: Engine) -> None:
    page = viewer.see("/", q="no-such-queue-anywhere")

    assert "No queue matches this filter" in page.text
    assert page.link("Show all queues") == "/"


def test_many_queues_come_in_pages(viewer: Browser, engine: Engine) -> None:
    for number in range(60):
        queues.create_queue(f"{engine.queue}-many-{number:02}")

    first = viewer.see("/", q=f"{engine.queue}-many")
    second = viewer.see(first.link("Next page"))

    assert (len(first.rows()), len(second.rows())) == (50, 10)
    assert not set(first.rows()) & set(second.rows())
    assert "51 to 60 of 60 queues" in second.text


def test_the_number_of_queries_does_not_grow_with_the_queues(viewer: Browser, engine: Engine) -> None:
    viewer.see("/")
    with CaptureQueriesContext(connection) as before:
        viewer.see("/")
    for number in range(12):
        queues.create_queue(f"{engine.queue}-more-{number}")
    with CaptureQueriesContext(connection) as after:
        viewer.see("/")

    assert len(after) == len(before) <= 15 + EVIDENCE_QUERIES  # two are about alerts and silences, if some fire
