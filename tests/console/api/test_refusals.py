"""Mistakes in a request are answered with a problem document, and never with a stack."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from console.api.core.problem_types import PROBLEM_TYPES
from tests.console.api.callers import TIMEOUT_SECONDS, Answer, Caller
from tests.engine import Engine

JSON = {"content-type": "application/json"}


@pytest.fixture
def messages(engine: Engine) -> str:
    return f"/v1/queues/{engine.queue}/messages"


def raw(caller: Caller, path: str, content: Any, **headers: str) -> Answer:
    return caller.send("POST", path, content, {**JSON, **headers})


UNREADABLE = {
    "nothing like JSON": b"{'body': 1}",
    "cut off": b'{"body": ',
    "two values": b'{"body": 1} {}',
    "not a number": b'{"body": NaN}',
    "infinity": b'{"body": -Infinity}',
    "beyond floats": b'{"body": 1e999}',
    "ten thousand digits": b'{"body": ' + b"9" * 10_000 + b"}",
    "a name twice": b'{"body": 1, "body": 2}',
    "a name twice inside": b'{"body": {"a": [{"x": 1, "x": 1}]}}',
    "not UTF-8": b'{"body": "\xff\xfe"}',
    "UTF-16": '{"body": 1}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"body": 1}',
    "a raw newline in text": b'{"body": "a\nb"}',
    "very deep": b'{"body": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_400(caller: Caller, engine: Engine, messages: str, content: bytes) -> None:
    refused = raw(caller, messages, content)

    assert (refused.status, refused.kind) == (400, "unreadable-body")
    assert len(refused.document["detail"]) > 10
    assert engine.recounted()[0] == 0


INVALID: dict[str, tuple[Any, list[str]]] = {
    "no body": ({}, ["body"]),
    "a list": ([1], ["body"]),
    "null": (None, ["body"]),
    "text": ("x", ["body"]),
    "unknown": ({"body": 1, "delay": 3}, ["delay"]),
    "snake case": ({"body": 1, "delay_seconds": 3}, ["delay_seconds"]),
    "two at once": ({"body": 1, "delaySeconds": -1, "traceId": ""}, ["delaySeconds", "traceId"]),
    "text for a number": ({"body": 1, "delaySeconds": "1"}, ["delaySeconds"]),
    "true for a number": ({"body": 1, "delaySeconds": True}, ["delaySeconds"]),
    "too far": ({"body": 1, "delaySeconds": 31_536_001}, ["delaySeconds"]),
    "a number for text": ({"body": 1, "messageGroupId": 5}, ["messageGroupId"]),
    "text too long": ({"body": 1, "deduplicationKey": "x" * 201}, ["deduplicationKey"]),
    "a character that is not stored": ({"body": 1, "messageGroupId": "a\x00"}, ["messageGroupId"]),
    "half a pair": ({"body": 1, "messageGroupId": "\ud800"}, ["messageGroupId"]),
    "not stored in a body": ({"body": {"a": ["\x00"]}}, ["body"]),
    "half a pair in a body": ({"body": {"a": "\udfff"}}, ["body"]),
    "half a pair in a name": ({"body": {"\udfff": 1}}, ["body"]),
    "deeper than a consumer may read": ({"body": json.loads("[" * 501 + "]" * 501)}, ["body"]),
    "not stored in attributes": ({"body": 1, "attributes": {"a": "\x00"}}, ["attributes"]),
    "attributes are no list": ({"body": 1, "attributes": []}, ["attributes"]),
    "large attributes": ({"body": 1, "attributes": {"a": "x" * 20_000}}, ["attributes"]),
    "an unknown priority": ({"body": 1, "attributes": {"priority": "urgent"}}, ["attributes.priority"]),
    "a priority too high": ({"body": 1, "attributes": {"priority": 32768}}, ["attributes.priority"]),
    "a long correlation id": ({"body": 1, "correlationId": "x" * 201}, ["correlationId"]),
}


@pytest.mark.parametrize(("document", "fields"), INVALID.values(), ids=INVALID.keys())
def test_what_is_invalid_is_422_and_names_the_field(
    caller: Caller, engine: Engine, messages: str, document: Any, fields: list[str]
) -> None:
    refused = raw(caller, messages, json.dumps(document).encode())

    assert (refused.status, refused.kind, refused.fields) == (422, "invalid-argument", fields)
    assert engine.recounted() == (0, 0, 0, 0, 0)


DEEP = {
    ":batch": ({"messages": []}, ["messages"]),
    ":receive": ({"maxMessages": 0, "waitSeconds": 21}, ["maxMessages", "waitSeconds"]),
    ":ack": ({"receiptHandles": ["x", 5]}, ["receiptHandles[1]"]),
    ":nack": ({"messages": [{"receiptHandle": "x"}, {"delaySeconds": 1}]}, ["messages[1].receiptHandle"]),
    ":change-visibility": ({"receiptHandles": ["x"]}, ["visibilityTimeoutSeconds"]),
    ":ack-and-receive": ({"receiptHandles": ["x"], "results": [1, 2]}, ["results"]),
}


@pytest.mark.parametrize("verb", DEEP)
def test_fields_inside_lists_are_named_by_their_place(caller: Caller, messages: str, verb: str) -> None:
    document, fields = DEEP[verb]
    refused = caller.post(messages + verb, document)

    assert (refused.status, refused.fields) == (422, fields)


def test_a_body_too_large_for_a_request_is_refused_before_it_is_read(caller: Caller, messages: str) -> None:
    place = urlsplit(caller.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
    connection.putrequest("POST", messages)
    for name, value in {**JSON, "authorization": f"Bearer {caller.key}", "content-length": "10000001"}.items():
        connection.putheader(name, value)
    connection.endheaders()  # and not one byte of it
    response = connection.getresponse()
    document = json.loads(response.read())
    connection.close()

    assert (response.status, document["type"], document["limit"]) == (413, "/problems/payload-too-large", 10_000_000)


def test_a_body_that_does_not_say_how_large_it_is_is_counted(caller: Caller, engine: Engine, messages: str) -> None:
    def pieces(count: int) -> Iterator[bytes]:
        yield b'{"body": "'
        for _ in range(count):
            yield b"x" * 100_000
        yield b'"}'

    assert raw(caller, messages, pieces(3)).status == 202
    try:
        refused = raw(caller, messages, pieces(150))
    except (BrokenPipeError, ConnectionResetError):
        pass  # stopped while it was still sending
    else:
        assert (refused.status, refused.kind) == (413, "payload-too-large")
    assert engine.recounted()[0] == 1


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "application/jsonp"])
def test_what_is_not_declared_as_json_is_415(caller: Caller, messages: str, kind: str) -> None:
    refused = caller.send("POST", messages, b'{"body": 1}', {"content-type": kind})

    assert (refused.status, refused.kind) == (415, "unsupported-media-type")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.shop+json"])
def test_json_by_any_name_is_read(caller: Caller, messages: str, kind: str) -> None:
    assert caller.send("POST", messages, b'{"body": 1}', {"content-type": kind}).status == 202


@pytest.mark.parametrize(
    "path", ["/v1/", "/v1/nowhere", "/v1/queues/a/b/c", "/v1/queues/%ff", "/v1/queues/a:b", "/v1//queues"]
)
def test_where_there_is_nothing_is_404(caller: Caller, path: str) -> None:
    assert caller.get(path).status == 404
    assert caller.get(path).kind in ("not-found", "queue-not-found")


@pytest.mark.parametrize("name", ["%00", "a%00b", "%ED%A0%80", "..", "'; drop table", "x" * 3000, "ü"])
def test_a_queue_of_any_name_is_only_not_found(caller: Caller, name: str) -> None:
    path = f"/v1/queues/{name}".replace(" ", "%20").replace("ü", "%C3%BC")
    assert caller.get(path).kind in ("not-found", "queue-not-found")
    assert caller.post(f"{path}/messages", {"body": 1}).kind in ("not-found", "queue-not-found")


def test_an_address_with_thousands_of_parameters_is_400(caller: Caller) -> None:
    assert caller.get(f"/v1/queues?{'a=1&' * 1001}").kind == "unreadable-request"


def test_a_request_with_two_keys_has_none(caller: Caller) -> None:
    connection = http.client.HTTPConnection(urlsplit(caller.url).netloc, timeout=TIMEOUT_SECONDS)
    connection.putrequest("GET", "/v1/queues")
    for key in (caller.key, "sbx_another"):
        connection.putheader("Authorization", f"Bearer {key}")
    connection.endheaders()
    refused = connection.getresponse()

    assert (refused.status, json.loads(refused.read())["type"]) == (400, "/problems/unreadable-request")
    connection.close()


def test_a_method_that_is_not_for_an_address_is_405(caller: Caller, messages: str) -> None:
    refused = caller.call("PUT", messages, {"body": 1})

    assert (refused.status, refused.kind) == (405, "method-not-allowed")
    assert {"GET", "POST"} <= {method.strip() for method in refused.headers["allow"].split(",")}


def test_head_is_get_without_the_document(caller: Caller, engine: Engine) -> None:
    path = f"/v1/queues/{engine.queue}"
    head, get = caller.call("HEAD", path), caller.get(path)

    assert (head.status, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert caller.call("HEAD", "/v1/queues/none").status == 404


def test_a_closed_queue_and_a_full_one_say_so(caller: Caller, make_engine: Any) -> None:
    closed, full = make_engine(closed=True), make_engine(max_backlog_messages=1)
    refused = caller.post(f"/v1/queues/{closed.queue}/messages", {"body": 1})
    assert (refused.status, refused.kind) == (409, "queue-closed")

    full.send(1)
    refused = caller.post(f"/v1/queues/{full.queue}/messages", {"body": 1})
    assert (refused.status, refused.kind) == (429, "quota-exceeded")
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.document["limitName"] == "maxBacklogMessages"
    assert (refused.document["limit"], refused.document["scope"]) == (1, "queue")


def test_a_payload_above_the_queues_limit_is_413(caller: Caller, make_engine: Any) -> None:
    engine = make_engine(max_payload_bytes=10)
    refused = caller.post(f"/v1/queues/{engine.queue}/messages", {"body": "x" * 20})

    assert (refused.status, refused.kind, refused.fields) == (413, "payload-too-large", ["body"])


def test_every_answer_says_that_it_is_not_to_be_kept_or_guessed_at(caller: Caller, stranger: Caller) -> None:
    for answer in (caller.get("/v1/queues"), stranger.get("/v1/queues"), stranger.get("/v1/openapi.json")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers


def test_every_kind_of_problem_has_a_status_a_title_and_advice() -> None:
    for slug, kind in PROBLEM_TYPES.items():
        assert slug == kind.slug
        assert 400 <= kind.status < 600
        assert kind.title
        assert kind.advice.endswith(".")


@pytest.mark.parametrize("field", ["traceId", "correlationId"])
@pytest.mark.parametrize("character", ["\r\nx", "\x00", "\x1b[2J", "\x7f", "\x9b"])
def test_what_names_a_trace_has_no_control_characters(
    caller: Caller, engine: Engine, messages: str, field: str, character: str
) -> None:
    answer = caller.post(messages, {"body": 1, field: f"a{character}"})

    assert (answer.status, answer.fields) == (422, [field])
    batch = caller.post(f"{messages}:batch", {"messages": [{"body": 1}, {"body": 2, field: f"a{character}"}]}).document
    assert [one["status"] for one in batch["results"]] == ["accepted", "rejected"]


@pytest.mark.parametrize("kind", ["levels", "digits"])
def test_json_that_clients_cannot_read_is_refused(caller: Caller, engine: Engine, messages: str, kind: str) -> None:
    body: Any = 10**1001
    if kind == "levels":
        body = 1
        for _ in range(129):
            body = [body]

    assert caller.post(messages, {"body": body}).status in (400, 422)
    assert engine.counted() == (0, 0, 0, 0, 0)


def test_whole_numbers_may_have_a_fraction_of_zero(caller: Caller, engine: Engine) -> None:
    engine.die()
    redrive = caller.post(f"/v1/queues/{engine.queue}-dlq:redrive", {"maxMessagesPerSecond": 1397.0, "canary": 1.0})
    assert (redrive.status, redrive.document["maxMessagesPerSecond"]) == (202, 1397)

    engine.send()
    seen = caller.post(f"/v1/queues/{engine.queue}:purge-plan").document
    wanted = {name: seen[name] for name in ("states", "throughMessageId")} | {"count": float(seen["count"])}
    wanted["throughDeadLetterId"] = float(seen["throughDeadLetterId"])
    assert caller.post(f"/v1/queues/{engine.queue}:purge", wanted).status == 202
