"""Causes of a backlog, on the queue's page, in the list, and in a terminal."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.control import queues
from tests.console.browsers import Browser
from tests.engine import Engine


def diagnose(queue: str, **options: Any) -> str:
    answer = io.StringIO()
    call_command("diagnose", queue, stdout=answer, **options)
    return answer.getvalue()


def test_the_page_says_why_with_numbers_proof_and_advice(viewer: Browser, engine: Engine) -> None:
    engine.send()

    page = viewer.see(f"/queues/{engine.queue}")

    assert "Why No consumer seen for 24 h; 1 message waits." in page.text
    assert "consumers in the last minute 0" in page.text
    assert page.link("See consumers and when each was last seen") == f"/queues/{engine.queue}/consumers"
    assert "Start workers for it" in page.text
    assert "Paused it is not paused" in page.text


def test_a_number_that_the_sentence_says_is_not_said_again(viewer: Browser, engine: Engine) -> None:
    queues.pause_queue(engine.queue, actor="ana", reason="partner is down")
    engine.send()
    engine.send()

    page = viewer.see(f"/queues/{engine.queue}")

    assert "hands out none of the 2 messages that wait" in page.text
    assert "held back 2 messages" not in page.text
    assert "Paused by ana" in page.text
    assert "Paused. Paused" not in page.text


def test_a_queue_without_a_backlog_has_no_such_panel(viewer: Browser, engine: Engine) -> None:
    assert not viewer.see(f"/queues/{engine.queue}").all("section", id="why")


def test_the_list_says_it_in_short(viewer: Browser, engine: Engine) -> None:
    queues.pause_queue(engine.queue, actor="ana", reason="partner is down")
    engine.send()
    engine.send()

    (row,) = viewer.see("/", q=f"queue:{engine.queue}").rows()

    assert "“partner is down”. 2 messages held back." in row


def test_a_terminal_reads_the_same(viewer: Browser, engine: Engine) -> None:
    engine.send()

    said = diagnose(engine.queue)

    assert said.startswith("No consumer seen for 24 h; 1 message waits.\n")
    assert "\nRuled out:\n  Paused: it is not paused\n" in said


def test_programs_read_it_as_json(viewer: Browser, engine: Engine) -> None:
    engine.send()

    document = json.loads(diagnose(engine.queue, json=True))

    assert (document["backlog"], document["cause"]) == (True, "consumer_outage")
    assert document["found"][0]["numbers"]["consumers"] == 0
    assert document["ruled_out"]["paused"] == "it is not paused"
    assert document["outlook"]["draining"] is True


def test_a_queue_that_does_not_exist_is_named(viewer: Browser) -> None:
    with pytest.raises(CommandError, match="queue 'nowhere' does not exist"):
        diagnose("nowhere")


def test_the_list_asks_as_much_for_many_backlogs_as_for_one(viewer: Browser, engine: Engine) -> None:
    engine.send()
    viewer.see("/", q=engine.queue)
    with CaptureQueriesContext(connection) as before:
        viewer.see("/", q=engine.queue)
    for number in range(4):
        queues.create_queue(f"{engine.queue}-{number}")
        for _ in range(3):
            engine.value("select signalbox.send(%s, '1')", f"{engine.queue}-{number}")
    with CaptureQueriesContext(connection) as after:
        page = viewer.see("/", q=engine.queue)

    assert len(page.rows()) == 5
    assert page.text.count("No consumer seen for 24 h") == 5
    assert len(after) == len(before)
