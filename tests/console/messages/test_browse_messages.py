"""Browsing: the messages of a queue in any state, filtered, page by page."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.console.browsers import Browser, Page
from tests.engine import Engine


def browse(browser: Browser, engine: Engine, **parameters: str) -> Page:
    return browser.see(f"/queues/{engine.queue}/messages", **parameters)


def ids(page: Page) -> list[int]:
    return [int(row.split()[0]) for row in page.rows()]


def test_each_state_shows_its_own(operator: Browser, engine: Engine) -> None:
    acked, held = engine.send({"n": 1}), engine.send({"n": 2})
    (_, handle, *_), _ = engine.receive(2, consumer="worker-1")
    engine.ack(handle)
    ready, scheduled = engine.send({"n": 3}), engine.send({"n": 4}, delay_seconds=900)

    assert ids(browse(operator, engine)) == [ready]
    assert ids(browse(operator, engine, state="leased")) == [held]
    assert ids(browse(operator, engine, state="scheduled")) == [scheduled]
    assert ids(browse(operator, engine, state="completed")) == [acked]
    assert "worker-1" in browse(operator, engine, state="leased").text


def test_states_carry_their_live_counts(operator: Browser, engine: Engine) -> None:
    engine.send()
    engine.send()
    engine.send(delay_seconds=60)

    text = browse(operator, engine).text

    assert "Ready 2" in text
    assert "Scheduled 1" in text
    assert "In flight 0" in text


def test_the_filter_looks_into_payloads(operator: Browser, engine: Engine) -> None:
    engine.send({"order": {"status": "open"}})
    paid = engine.send({"order": {"status": "paid"}})

    page = browse(operator, engine, q='payload.order.status:"paid"')

    assert ids(page) == [paid]
    assert page.one("input", id="q").attributes["value"] == 'payload.order.status:"paid"'


def test_a_payload_is_text_whatever_it_holds(operator: Browser, engine: Engine) -> None:
    engine.send({"html": "<script>alert(1)</script>"}, group_id="<img src=x onerror=alert(2)>")

    page = browse(operator, engine)

    assert '{"html": "<script>alert(1)</script>"}' in page.text
    assert "<script>alert" not in page.html
    assert "<img" not in page.html


def test_a_long_payload_is_cut(operator: Browser, engine: Engine) -> None:
    engine.send({"text": "x" * 50_000})

    assert len(browse(operator, engine).html) < 40_000


def test_a_viewer_sees_that_payloads_are_masked(viewer: Browser, engine: Engine) -> None:
    engine.send({"secret": "hunter2"})

    page = browse(viewer, engine)

    assert "masked" in page.text
    assert "hunter2" not in page.html
    assert "Viewing payloads, attributes and stacks requires the operator role." in page.html


def test_a_mistake_is_underlined_and_the_list_stays(operator: Browser, engine: Engine) -> None:
    message_id = engine.send()

    page = browse(operator, engine, q="id:1 paylod.a:2")

    assert page.one("mark").text == "paylod.a"
    assert "Did you mean payload:?" in page.text
    assert ids(page) == [message_id]


def test_a_key_that_the_state_cannot_answer_is_a_mistake(operator: Browser, engine: Engine) -> None:
    page = browse(operator, engine, q="class:TimeoutError")

    assert page.one("mark").text == "class:TimeoutError"
    assert "does not work for ready messages" in page.text


def test_pages_follow_each_other_without_gap_or_repeat(operator: Browser, engine: Engine) -> None:
    sent = [engine.send() for _ in range(120)]

    first = browse(operator, engine)
    second = operator.see(first.link("Next page"))
    third = operator.see(second.link("Next page"))

    seen = ids(first) + ids(second) + ids(third)
    assert sorted(seen) == sorted(sent)
    assert ids(operator.see(third.link("Previous page"))) == ids(second)


def test_columns_sort_the_first_messages(operator: Browser, engine: Engine) -> None:
    sent = [engine.send(group_id=group, priority=number) for number, group in enumerate("bca")]

    by_group = browse(operator, engine, sort="group")
    assert ids(by_group) == [sent[2], sent[0], sent[1]]
    assert ids(operator.see(by_group.link("Priority"))) == sent[::-1]
    assert by_group.one("th", aria_sort="ascending").text == "Group ↑"
    assert ids(operator.see(by_group.link("Ready since"))) == sent[::-1]


@pytest.mark.parametrize("cursor", ["x", "1", "1.x", "9" * 40, "-1.-1", "1.1.1", "\x00"])
def test_an_edited_address_does_no_harm(operator: Browser, engine: Engine, cursor: str) -> None:
    engine.send()

    browse(operator, engine, after=cursor)
    browse(operator, engine, before=cursor, state="nowhere")


def test_empty_states_say_what_would_be_there(operator: Browser, engine: Engine) -> None:
    assert "No ready messages" in browse(operator, engine).text
    assert "No messages in flight" in browse(operator, engine, state="leased").text
    assert "No scheduled messages" in browse(operator, engine, state="scheduled").text
    assert "No completed messages" in browse(operator, engine, state="completed").text
    assert "No ready message matches" in browse(operator, engine, q="id:1").text


def test_the_number_of_queries_does_not_grow_with_the_messages(operator: Browser, engine: Engine) -> None:
    engine.send()
    browse(operator, engine)
    with CaptureQueriesContext(connection) as few:
        browse(operator, engine)
    for _ in range(60):
        engine.send()
    with CaptureQueriesContext(connection) as many:
        browse(operator, engine)

    assert len(many) == len(few) <= 22
