"""A message sent by hand is checked, sent and recorded, or nothing is done."""

from __future__ import annotations

from queues.control.queues import configure_queue
from queues.models import AuditEvent, Message
from tests.console.browsers import Browser
from tests.engine import Engine


def test_it_is_sent_with_everything_one_chose(operator: Browser, engine: Engine) -> None:
    page = operator.submit(
        f"/queues/{engine.queue}/send",
        payload='{"order": 7}',
        attributes='{"region": "eu"}',
        priority="5",
        group_id="customer-1",
    )

    message = Message.objects.get(queue_id=engine.queue_id)
    assert f"Sent message {message.message_id} to {engine.queue}." in page.text
    assert (message.payload, message.attributes) == ({"order": 7}, {"region": "eu"})
    assert (message.priority, message.group_id) == (5, "customer-1")
    event = AuditEvent.objects.get(queue_id=engine.queue_id, action="message.send")
    assert (event.actor, event.details) == (operator.name, {"message_id": message.message_id})


def test_what_is_no_json_is_refused(operator: Browser, engine: Engine) -> None:
    for payload in ("{", "", "NaN", "[" * 100_000):
        page = operator.submit(f"/queues/{engine.queue}/send", status=422, payload=payload, priority="0")
        assert page.one("textarea", id="id_payload").attributes["aria-invalid"] == "true"
    assert not Message.objects.filter(queue_id=engine.queue_id).exists()


def test_attributes_have_to_be_an_object(operator: Browser, engine: Engine) -> None:
    page = operator.submit(f"/queues/{engine.queue}/send", status=422, payload="1", attributes="[1]", priority="0")

    assert "Attributes are a JSON object" in page.text


def test_the_engine_has_the_last_word(operator: Browser, engine: Engine) -> None:
    configure_queue(engine.queue, {"closed": True}, actor="ana")

    page = operator.submit(f"/queues/{engine.queue}/send", status=422, payload="{}", priority="0")

    assert "closed" in page.one("div", class_="form-errors").text
    assert not AuditEvent.objects.filter(queue_id=engine.queue_id, action="message.send").exists()


def test_a_payload_that_postgresql_cannot_store_is_refused(operator: Browser, engine: Engine) -> None:
    page = operator.submit(f"/queues/{engine.queue}/send", status=422, payload='"\\u0000"', priority="0")

    assert page.one("textarea", id="id_payload").attributes["aria-invalid"] == "true"
    assert page.all("ul", class_="errorlist")[0].text
