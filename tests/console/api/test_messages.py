"""Sending, receiving and settling messages over HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from queues import bodies
from signalbox.payloads.encoding import encode
from tests.console.api.callers import Answer, Caller
from tests.engine import Engine

Made = Callable[..., Engine]


def send(caller: Caller, engine: Engine, body: Any, **options: Any) -> Answer:
    return caller.post(f"/v1/queues/{engine.queue}/messages", {"body": body, **options})


def receive(caller: Caller, engine: Engine, **wanted: Any) -> list[dict[str, Any]]:
    answer = caller.post(f"/v1/queues/{engine.queue}/messages:receive", wanted)
    assert answer.status == 200
    return list(answer.document["messages"])


def settle(caller: Caller, engine: Engine, handle: str, verb: str, said: Any = None) -> Answer:
    return caller.post(f"/v1/queues/{engine.queue}/messages/{handle}:{verb}", said)


def test_a_message_is_sent_received_and_acknowledged(caller: Caller, engine: Engine) -> None:
    sent = send(caller, engine, {"order": 7, "name": "ünïcode"})
    assert sent.status == 202
    assert sent.document["messageId"] == f"msg_{sent.document['sequence']}"

    (message,) = receive(caller, engine, maxMessages=10)
    assert message["messageId"] == sent.document["messageId"]
    assert message["body"] == {"order": 7, "name": "ünïcode"}
    assert message["receiveCount"] == 1
    assert message["sentAt"].endswith("Z")
    assert [name for name, value in message.items() if value is None] == [
        "contentType",
        "messageGroupId",
        "state",
        "traceId",
        "correlationId",
    ]

    acked = settle(caller, engine, message["receiptHandle"], "ack", {"result": {"total": 3}})
    assert (acked.status, acked.content) == (204, b"")
    assert settle(caller, engine, message["receiptHandle"], "ack").kind == "lease-lost"
    outcome = caller.get(f"/v1/queues/{engine.queue}/messages/{message['messageId']}")
    assert outcome.document["outcome"] == "acked"
    assert outcome.document["result"] == {"total": 3}
    assert engine.counted() == engine.recounted() == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("body", [None, 0, "", "text", [], {}, [None, {"a": [1.5, True]}], {"a": "\u2028 \U0001f600"}])
def test_any_json_is_a_body(caller: Caller, engine: Engine, body: Any) -> None:
    assert send(caller, engine, body).status == 202

    (message,) = receive(caller, engine)
    assert message["body"] == body


@pytest.mark.parametrize(("said", "priority"), [("normal", 4), (2, 2), (2.0, 2), (None, 0)])
def test_a_priority_is_a_word_or_a_whole_number(caller: Caller, engine: Engine, said: Any, priority: int) -> None:
    assert send(caller, engine, 1, attributes={"priority": said}).status == 202

    (message,) = receive(caller, engine)
    assert message["priority"] == priority


def test_everything_said_of_a_message_arrives(caller: Caller, make_engine: Made) -> None:
    engine = make_engine(group_max_in_flight=5)
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    said = {
        "messageGroupId": "merchant_42",
        "attributes": {"priority": "high", "source": "shop", "traceparent": f"00-{trace}-00f067aa0ba902b7-01"},
        "correlationId": "c-1",
        "deduplicationKey": "n_987",
    }
    first = send(caller, engine, 1, **said)
    assert send(caller, engine, 1, **said).document == first.document

    (message,) = receive(caller, engine, maxMessages=5, consumer="test-1", visibilityTimeoutSeconds=600)
    assert message["messageGroupId"] == "merchant_42"
    assert message["priority"] == 8
    assert message["attributes"]["source"] == "shop"
    assert "priority" not in message["attributes"]
    assert (message["correlationId"], message["traceId"]) == ("c-1", trace)
    assert 60 < message["leaseSeconds"] <= 600


def test_a_delayed_message_waits(caller: Caller, engine: Engine) -> None:
    sent = send(caller, engine, "later", delaySeconds=3600)

    assert receive(caller, engine) == []
    outcome = caller.get(f"/v1/queues/{engine.queue}/messages/{sent.document['messageId']}").document
    assert (outcome["state"], outcome["outcome"]) == ("pending", None)


def test_a_key_with_another_body_names_the_first_message(caller: Caller, engine: Engine) -> None:
    first = send(caller, engine, 1, deduplicationKey="k")
    other = send(caller, engine, 2, deduplicationKey="k")

    assert (other.status, other.kind, other.fields) == (409, "deduplication-conflict", ["deduplicationKey"])
    assert other.document["firstMessageId"] == first.document["messageId"]
    assert "deduplicationKey 'k'" not in other.document["type"]


def test_a_batch_answers_for_each_message(caller: Caller, make_engine: Made) -> None:
    engine = make_engine(max_payload_bytes=50)
    messages = [
        {"clientMessageId": "m0", "body": {"n": 0}},
        {"clientMessageId": "m1", "body": "x" * 60},
        {"clientMessageId": "m2", "body": 2, "delaySeconds": -1},
        {"body": 3},
        {"clientMessageId": "m4"},
        {"clientMessageId": "m5", "body": "\x00"},
        {"clientMessageId": "m6", "body": 6, "attributes": {"priority": "urgent"}},
        "not an object",
        {"clientMessageId": "m8", "body": 8},
    ]
    answer = caller.post(f"/v1/queues/{engine.queue}/messages:batch", {"messages": messages})

    assert answer.status == 200
    results = answer.document["results"]
    assert [one["clientMessageId"] for one in results] == ["m0", "m1", "m2", None, "m4", "m5", "m6", None, "m8"]
    accepted = [place for place, one in enumerate(results) if one["status"] == "accepted"]
    assert accepted == [0, 3, 8]
    named = {
        place: [error["field"] for error in one["error"]["errors"]]
        for place, one in enumerate(results)
        if one["status"] == "rejected"
    }
    assert named == {
        1: ["messages[1].body"],
        2: ["messages[2].delaySeconds"],
        4: ["messages[4].body"],
        5: ["messages[5].body"],
        6: ["messages[6].attributes.priority"],
        7: ["messages[7]"],
    }
    assert results[1]["error"]["status"] == 413
    received = receive(caller, engine, maxMessages=10)
    assert [message["body"] for message in received] == [{"n": 0}, 3, 8]
    assert [message["sequence"] for message in received] == [results[place]["sequence"] for place in accepted]
    assert engine.counted() == engine.recounted()


def test_a_nacked_message_comes_again_or_dies(caller: Caller, engine: Engine) -> None:
    sent = send(caller, engine, "work").document
    (message,) = receive(caller, engine)
    said = {"delaySeconds": 0, "reason": "third_party_timeout", "error": "too slow", "state": {"page": 3}}
    retried = settle(caller, engine, message["receiptHandle"], "nack", said)
    assert (retried.status, retried.headers["signalbox-outcome"]) == (204, "retry")

    (again,) = receive(caller, engine)
    assert (again["receiveCount"], again["state"]) == (2, {"page": 3})
    failures = engine.rows(
        "select reason, error_class, error from signalbox.failure where message_id = %s", sent["sequence"]
    )
    assert failures == [("runtime_error", "third_party_timeout", "too slow")]

    dead = settle(caller, engine, again["receiptHandle"], "nack", {"reason": "rejected", "errorClass": "Hopeless"})
    assert dead.headers["signalbox-outcome"] == "dead"
    assert settle(caller, engine, again["receiptHandle"], "nack").kind == "lease-lost"
    for queue in (engine.queue, f"{engine.queue}-dlq"):
        outcome = caller.get(f"/v1/queues/{queue}/messages/{sent['messageId']}").document
        assert (outcome["state"], outcome["queue"]) == ("dead", engine.queue)


def test_a_lease_is_kept_longer_or_given_back(caller: Caller, engine: Engine) -> None:
    send(caller, engine, "long")
    (message,) = receive(caller, engine, visibilityTimeoutSeconds=30)
    handle = message["receiptHandle"]
    kept = settle(caller, engine, handle, "change-visibility", {"visibilityTimeoutSeconds": 600})
    assert kept.status == 204
    assert kept.headers["signalbox-deadline"] > message["deadline"]

    assert settle(caller, engine, handle, "change-visibility", {"visibilityTimeoutSeconds": 0}).status == 204
    assert settle(caller, engine, handle, "change-visibility", {"visibilityTimeoutSeconds": 9}).kind == "lease-lost"
    assert len(receive(caller, engine)) == 1


def test_many_are_settled_in_one_call(caller: Caller, engine: Engine) -> None:
    for number in range(6):
        send(caller, engine, number)
    handles = [message["receiptHandle"] for message in receive(caller, engine, maxMessages=6)]
    messages = f"/v1/queues/{engine.queue}/messages"

    done = caller.post(f"{messages}:ack", {"receiptHandles": handles[:2], "results": [{"a": 1}, None]})
    assert [one["status"] for one in done.document["results"]] == ["acked", "acked"]
    again = caller.post(f"{messages}:ack", {"receiptHandles": [handles[2], handles[0]]})
    assert again.document["results"] == [
        {"receiptHandle": handles[2], "status": "acked"},
        {"receiptHandle": handles[0], "status": "lost"},
    ]
    failed = [{"receiptHandle": handles[3], "reason": "rejected"}, {"receiptHandle": handles[0]}]
    nacked = caller.post(f"{messages}:nack", {"messages": failed})
    assert [one["status"] for one in nacked.document["results"]] == ["dead", "lost"]
    wanted = {"receiptHandles": [handles[4], handles[3]], "visibilityTimeoutSeconds": 900}
    changed = caller.post(f"{messages}:change-visibility", wanted).document["results"]
    assert [one["status"] for one in changed] == ["changed", "lost"]
    assert changed[0]["deadline"] is not None
    assert engine.counted() == engine.recounted()


@pytest.mark.parametrize("results", [None, [{"kept": True}]])
def test_an_acknowledgement_and_the_next_message_in_one_call(
    caller: Caller, engine: Engine, results: list[Any] | None
) -> None:
    for number in range(3):
        send(caller, engine, number)
    (first,) = receive(caller, engine)
    wanted = {"receiptHandles": [first["receiptHandle"]], "maxMessages": 2, "results": results}
    answer = caller.post(f"/v1/queues/{engine.queue}/messages:ack-and-receive", wanted)

    assert answer.document["results"] == [{"receiptHandle": first["receiptHandle"], "status": "acked"}]
    assert [message["body"] for message in answer.document["messages"]] == [1, 2]
    assert engine.counted() == engine.recounted()


def test_a_handle_is_good_for_its_own_queue_only(caller: Caller, engine: Engine, make_engine: Made) -> None:
    send(caller, engine, 1)
    (message,) = receive(caller, engine)
    other = make_engine()

    handle = message["receiptHandle"]
    assert settle(caller, other, handle, "ack").status == 404
    assert caller.post(f"/v1/queues/{other.queue}/messages:ack", {"receiptHandles": [handle]}).status == 404
    for malformed in ("nonsense", "1.2.3", f"{handle}0", handle.upper() + "A", "%00", f"{handle}%0A"):
        refused = settle(caller, engine, malformed, "ack")
        assert (refused.status, refused.fields) == (422, ["receiptHandle"])
    refused = caller.post(f"/v1/queues/{engine.queue}/messages:ack", {"receiptHandles": [handle, "nonsense"]})
    assert (refused.status, refused.fields) == (422, ["receiptHandles[1]"])
    assert settle(caller, engine, handle, "ack").status == 204


def test_a_consumer_announces_itself(caller: Caller, engine: Engine) -> None:
    announced = {"consumer": "billing-1", "details": {"host": "web-3"}}
    assert caller.post(f"/v1/queues/{engine.queue}/consumers", announced).status == 204
    seen = engine.rows("select consumer, details from signalbox.consumer where queue_id = %s", engine.queue_id)
    assert seen == [("billing-1", {"host": "web-3"})]

    large = caller.post(f"/v1/queues/{engine.queue}/consumers", {"consumer": "c", "details": {"a": "x" * 20_000}})
    assert (large.status, large.fields) == (422, ["details"])


def test_a_large_body_goes_through_the_store(caller: Caller, engine: Engine) -> None:
    body = {"pages": ["x" * 1000] * 400}
    assert send(caller, engine, body).status == 202
    (message,) = receive(caller, engine)
    assert message["body"] == body
    assert settle(caller, engine, message["receiptHandle"], "ack").status == 204


def test_an_unknown_message_is_not_found(caller: Caller, engine: Engine, make_engine: Made) -> None:
    sent = send(caller, make_engine(), 1).document
    for name in (sent["messageId"], "msg_999999999999999999", "msg_0", "17", "msg_%00"):
        answer = caller.get(f"/v1/queues/{engine.queue}/messages/{name}")
        assert (answer.status, answer.kind) == (404, "message-not-found")


def test_a_large_body_that_is_lost_keeps_no_other_message_back(caller: Caller, engine: Engine) -> None:
    lost = {"pages": [engine.queue + "x" * 1000] * 300}
    sent = send(caller, engine, lost).document
    send(caller, engine, "small")
    bodies.store().delete(hashlib.sha256(encode(lost).encode()).hexdigest())

    assert [message["body"] for message in receive(caller, engine, maxMessages=5)] == ["small"]
    failed = engine.rows("select error_class from signalbox.failure where message_id = %s", sent["sequence"])
    assert failed == [("BodyMissing",)]
    assert engine.counted() == engine.recounted()


def test_the_name_that_a_queue_had_works_while_it_works(caller: Caller, engine: Engine) -> None:
    new_name = f"{engine.queue}.new"
    engine.value("select signalbox.rename_queue(%s, %s)", engine.queue, new_name)

    assert send(caller, engine, {"by": "the old name"}).status == 202
    (message,) = receive(caller, engine)
    assert settle(caller, engine, message["receiptHandle"], "ack").status == 204
    answer = caller.get(f"/v1/queues/{new_name}")
    assert answer.status == 200
    engine.value("select signalbox.free_queue_name(%s)", engine.queue)


def test_the_name_that_a_queue_had_says_the_new_one_when_it_works_no_longer(
    caller: Caller, engine: Engine, make_caller: Callable[..., Caller]
) -> None:
    """The answer goes to callers who reached the queue by its name; for others the queue never existed."""
    new_name = f"{engine.queue}.new"
    engine.value("select signalbox.rename_queue(%s, %s, 0)", engine.queue, new_name)

    refused = send(caller, engine, {"by": "the old name"})
    assert (refused.status, refused.kind, new_name in refused.document["detail"]) == (404, "queue-not-found", True)
    assert new_name not in send(make_caller(tenant="another-tenant"), engine, {}).document["detail"]
    engine.value("select signalbox.free_queue_name(%s)", engine.queue)
