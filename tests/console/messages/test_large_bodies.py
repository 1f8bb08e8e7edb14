"""Message page: state, result, and a body that is too large for the page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from queues import bodies, messages
from tests.console.browsers import Browser
from tests.console.messages.test_understand_a_message import page_of
from tests.engine import Engine

HOSTILE = {"</script><script>alert(1)</script>": "<b>hunter2</b>"}


def send_large(engine: Engine) -> tuple[int, dict[str, Any]]:
    payload = {**HOSTILE, "of": engine.queue, "text": "x" * 300_000}
    return messages.send(engine.queue, payload), payload


def test_a_state_is_shown_to_those_who_may_see_payloads(operator: Browser, viewer: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    engine.nack(engine.receive_one()[1], state=Jsonb(HOSTILE))

    page = page_of(operator, engine, message_id)
    assert "State for the next delivery" in page.text
    assert '"<b>hunter2</b>"' in page.text
    assert "<script>alert" not in page.html
    page = page_of(viewer, engine, message_id)
    assert "The state is masked. Viewing payloads, attributes and stacks requires the operator role." in page.text
    assert "hunter2" not in page.html


def test_a_dead_letter_shows_what_its_last_delivery_left(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    engine.nack(engine.receive_one()[1], reason="rejected", state=Jsonb("page 7"))

    page = page_of(operator, engine, message_id)

    assert "State saved by the last delivery" in page.text
    assert '"page 7"' in page.text


def test_a_result_is_shown_to_those_who_may_see_payloads(operator: Browser, viewer: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    engine.value("select count(*) from signalbox.ack(%s, %s)", [engine.receive_one()[1]], [Jsonb(HOSTILE)])

    page = page_of(operator, engine, message_id)
    assert "Result" in page.text
    assert '"<b>hunter2</b>"' in page.text
    assert "<script>alert" not in page.html
    page = page_of(viewer, engine, message_id)
    assert "The result is masked." in page.text
    assert "hunter2" not in page.html


def test_without_either_the_page_says_nothing_of_them(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})
    engine.ack(engine.receive_one()[1])

    page = page_of(operator, engine, message_id)

    assert "State" not in [one.text for one in page.all("h2")]
    assert "Result" not in [one.text for one in page.all("h2")]


def test_a_large_payload_is_named_and_downloaded_not_drawn(operator: Browser, engine: Engine) -> None:
    message_id, payload = send_large(engine)
    size = len(json.dumps(payload, separators=(",", ":")))

    page = page_of(operator, engine, message_id)
    assert "KB, in the large-body store" in page.text
    assert len(page.html) < 50_000
    assert "hunter2" not in page.html
    answer = operator.get(page.link("Download it"))

    assert json.loads(answer.content) == payload
    assert len(answer.content) == size
    assert answer["Content-Disposition"] == f'attachment; filename="message-{message_id}.json"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Type"] == "application/json"
    assert "no-store" in answer["Cache-Control"]


def test_a_viewer_sees_that_there_is_one_and_cannot_have_it(viewer: Browser, engine: Engine) -> None:
    message_id, _ = send_large(engine)

    page = page_of(viewer, engine, message_id)

    assert "The payload is masked." in page.text
    assert "Download" not in page.text
    assert viewer.get(f"/queues/{engine.queue}/messages/{message_id}/body").status_code == 403


def test_a_dead_letter_with_a_large_body_is_downloaded_too(operator: Browser, engine: Engine) -> None:
    message_id, payload = send_large(engine)
    engine.nack(engine.receive_one()[1], reason="rejected")
    engine.connection.execute("delete from signalbox.message where queue_id = %s", [engine.queue_id])

    answer = operator.get(page_of(operator, engine, message_id).link("Download it"))

    assert json.loads(answer.content) == payload


@pytest.mark.parametrize("state", ["ready", "leased"])
def test_lists_say_how_large_it_is(operator: Browser, engine: Engine, state: str) -> None:
    send_large(engine)
    if state == "leased":
        engine.receive()

    page = operator.see(f"/queues/{engine.queue}/messages?state={state}")

    assert "large body of 300" in page.text


def test_the_list_of_dead_letters_says_it_too(operator: Browser, engine: Engine) -> None:
    send_large(engine)
    engine.nack(engine.receive_one()[1], reason="rejected")

    assert "large body of 300" in operator.see(f"/dead-letters?q=queue:{engine.queue}").text


@pytest.mark.parametrize("loss", ["gone", "changed"])
def test_a_body_that_was_lost_is_not_found(operator: Browser, engine: Engine, loss: str) -> None:
    message_id, payload = send_large(engine)
    (sha256,) = engine.rows(
        "select encode(body_sha256, 'hex') from signalbox.message where message_id = %s", message_id
    )[0]
    store = bodies.store()
    store.delete(sha256)
    if loss == "changed":
        store.put(sha256, json.dumps(payload).encode().swapcase())

    page = operator.see(f"/queues/{engine.queue}/messages/{message_id}/body", status=404)

    assert sha256 in page.text


def test_ordinary_messages_have_no_file(operator: Browser, engine: Engine) -> None:
    message_id = engine.send({"n": 1})

    page = operator.see(f"/queues/{engine.queue}/messages/{message_id}/body", status=404)

    assert f"Message {message_id} has no large body" in page.text
