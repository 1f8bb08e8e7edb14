"""Batches over HTTP that are sent whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.api.callers import Answer, Caller
from tests.engine import Engine


def send_all(caller: Caller, engine: Engine, messages: list[Any], **headers: str) -> Answer:
    document = {"atomic": True, "messages": messages}
    return caller.post(f"/v1/queues/{engine.queue}/messages:batch", document, **headers)


def test_all_are_sent_in_their_order(caller: Caller, engine: Engine) -> None:
    answer = send_all(caller, engine, [{"clientMessageId": "a", "body": 1, "attributes": {"priority": 9}}, {"body": 2}])

    assert answer.status == 200
    first, second = answer.document["results"]
    assert (first["clientMessageId"], first["status"], second["clientMessageId"]) == ("a", "accepted", None)
    assert first["messageId"] == f"msg_{first['sequence']}"
    assert {row[0]: row[3] for row in engine.receive(10)} == {first["sequence"]: 1, second["sequence"]: 2}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"body": 2, "delaySeconds": -1}, "messages[1].delaySeconds"),
        ({"delaySeconds": 1}, "messages[1].body"),
        ({"body": 2, "attributes": {"priority": 32768}}, "messages[1].attributes.priority"),
        ({"body": "\u0000"}, "messages[1].body"),
    ],
)
def test_one_that_is_wrong_keeps_all_back_and_is_named(caller: Caller, engine: Engine, wrong: Any, field: str) -> None:
    answer = send_all(caller, engine, [{"body": 1}, wrong])

    assert (answer.status, answer.fields) == (422, [field]), answer.content
    assert engine.receive(10) == []


def test_one_that_is_too_large_keeps_all_back(caller: Caller, make_engine: Any) -> None:
    engine = make_engine(max_payload_bytes=100)

    answer = send_all(caller, engine, [{"body": 1}, {"body": "x" * 200}])

    assert (answer.status, answer.kind) == (413, "payload-too-large")
    assert engine.receive(10) == []


def test_a_quota_is_asked_for_the_whole(caller: Caller, make_engine: Any) -> None:
    engine = make_engine(max_backlog_messages=2)

    refused = send_all(caller, engine, [{"body": 1}, {"body": 2}, {"body": 3}])

    assert (refused.status, refused.kind) == (429, "quota-exceeded")
    assert send_all(caller, engine, [{"body": 1}, {"body": 2}]).status == 200


def test_repeated_with_its_key_it_is_sent_once(caller: Caller, engine: Engine) -> None:
    first, second = (send_all(caller, engine, [{"body": 1}, {"body": 2}], idempotency_key="k") for _ in range(2))

    assert first.document == second.document
    assert len(engine.receive(10)) == 2
