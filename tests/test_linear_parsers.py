"""Every parser of what others send takes time in proportion to its length, up to what one request may have.

A parser of square growth is a way to stop a process with one small request.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from console.access.api_keys import key, keys
from console.api import asgi
from console.api.core import idempotency, name_pages, request_body
from console.api.core.names import in_wire_words
from console.api.core.problems import Problem, problem_of
from console.api.core.request_body import read_body, read_json
from console.api.core.shape import invalid
from console.api.messages import deliveries, peeking, sending
from console.api.redrives import reach
from console.api.sqs.errors import SqsError
from console.api.sqs.messages import attributes as sqs_attributes
from console.api.sqs.messages.message_ids import read_receipt
from console.api.sqs.operations import OPERATIONS
from console.api.sqs.protocols import json as sqs_protocol
from console.api.sqs.protocols import query as sqs_query
from console.api.sqs.queues import attributes as sqs_queue_attributes
from console.api.sqs.queues import configuring as sqs_configuring
from console.api.sqs.queues import redrive_policies
from console.api.sqs.signature import Request as SignedRequest
from console.api.sqs.signature import Signature, read_signature
from console.filters.list_filter_grammar import Key
from console.filters.list_filter_grammar import parse as parse_terms
from console.web.forms.fields import JsonTextField
from dlq.erasure import target
from dlq.filters import complete
from dlq.filters import parse as parse_filter
from dlq.masking import masks
from dlq.redrives import patching
from dlq.search import message_list
from metrics.alerts import receiving
from pipeline.replay import documents
from queues.control.as_code import document as as_code
from signalbox import arguments
from signalbox.calls import problems
from signalbox.calls.sending import send_batch
from signalbox.celery import calls, envelopes
from signalbox.cli import command
from signalbox.messages import Message
from signalbox.payloads import encoding, unreadable
from signalbox.payloads.encoding import MAX_DIGITS
from signalbox.tracing import attributes, context
from signalbox.worker.processes.frames import Frames, pack
from tests.growth import SHORTEST_SECONDS, SIZES_OF_REQUESTS, assert_linear, measure

Texts = dict[str, Callable[[int], str]]


def _names(size: int) -> str:
    """An object of which only the last name stands twice."""
    count = size // 14
    return "{" + ",".join(f'"k{n:08}":0' for n in range(count)) + f',"k{count - 1:08}":0}}'


JSONS: Texts = {
    "a name twice": _names,
    "a name twice inside": lambda size: '{"body":' + _names(size) + "}",
    "many names": lambda size: "{" + ",".join(f'"k{n:08}":0' for n in range(size // 14)) + "}",
    "equal names": lambda size: "{" + ",".join(['"k":0'] * (size // 6)) + "}",
    "objects with equal names": lambda size: "[" + ",".join(['{"k":0,"k":1}'] * (size // 14)) + "]",
    "levels": lambda size: "[" * size,
    "closed levels": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "levels of objects": lambda size: '{"a":' * (size // 5),
    "a long number": lambda size: "1" * size,
    "a long fraction": lambda size: "0." + "1" * size,
    "a long exponent": lambda size: "1e" + "1" * size,
    "numbers of 900 digits": lambda size: "[" + ",".join(["1" * 900] * (size // 901)) + "]",
    "fractions of 900 digits": lambda size: "[" + ",".join(["0." + "1" * 900] * (size // 903)) + "]",
    "small numbers": lambda size: "[" + ",".join(["0"] * (size // 2)) + "]",
    "a long text": lambda size: '"' + "a" * size + '"',
    "an open text": lambda size: '"' + "a" * size,
    "escapes": lambda size: '"' + "\\n" * (size // 2) + '"',
    "quotes in text": lambda size: '"' + '\\"' * (size // 2) + '"',
    "NULs": lambda size: '"' + "\\u0000" * (size // 6) + '"',
    "halves of pairs": lambda size: '"' + "\\ud800" * (size // 6) + '"',
    "backslashes": lambda size: '"' + "\\\\" * (size // 2) + '"',
    "spaces": lambda size: " " * size + "x",
    "lines": lambda size: "\n" * size + "x",
    "a NUL behind a long name": lambda size: json.dumps({"k" * (size // 2): [0] * (size // 6) + ["\x00"]}),
    "a NUL behind long names": lambda size: (
        json.dumps({"k" * (size // 2): {str(n): n for n in range(size // 30)}})[:-2] + ',"z":"\\u0000"}}'
    ),
    "a NUL in a name of quotes": lambda size: json.dumps({'"\\' * (size // 6) + "\x00": 1}),
    "batches": lambda size: json.dumps({"messages": [{"body": 1}] * (size // 13)}),
    "messages of unknown fields": lambda size: json.dumps({f"a{n}": 1 for n in range(size // 14)}),
}
TEXTS: Texts = {
    "letters": lambda size: "a" * size,
    "quotes": lambda size: '"' * size,
    "open quotes": lambda size: '"' + '\\"' * (size // 2),
    "backslashes": lambda size: "\\" * size,
    "colons": lambda size: "a:" * (size // 2),
    "dots": lambda size: "a." * (size // 2),
    "quoted steps": lambda size: 'a."b\\"".' * (size // 8),
    "brackets": lambda size: "[]" * (size // 2),
    "slashes": lambda size: "/a" * (size // 2),
    "commas": lambda size: "," * size,
    "apostrophes": lambda size: "'" * size,
    "words": lambda size: "payload " * (size // 8),
    "words_with_lines": lambda size: "a_" * (size // 2),
    "digits": lambda size: "1" * size,
    "handles": lambda size: "1.1." + "0" * size,
    "trace": lambda size: "00-" + "a" * size,
    "spaces": lambda size: " " * size,
    "minuses": lambda size: "-" * size,
}
LONG_JSONS = (
    "a name twice",
    "many names",
    "equal names",
    "levels",
    "numbers of 900 digits",
    "small numbers",
    "an open text",
    "NULs",
    "halves of pairs",
    "lines",
    "a NUL behind long names",
)
"""Those with which a request is filled."""
YAMLS: Texts = {
    "levels": lambda size: "[" * size,
    "levels of maps": lambda size: "{a: " * (size // 4),
    "keys as keys": lambda size: "? " * (size // 2),
    "equal keys": lambda size: "a: 1\n" * (size // 5),
    "keys": lambda size: "".join(f"k{n}: 1\n" for n in range(size // 10)),
    "anchors": lambda size: "a: &a [" + "*a," * (size // 3) + "]",
    "a YAML text with >": lambda size: "a: >\n" + " b\n" * (size // 3),
    "plain lines": lambda size: "a:\n" + " b\n" * (size // 3),
    "comments": lambda size: "# a\n" * (size // 4),
}
YAML_SCALARS: Texts = {
    "base 60": lambda size: "a: " + "1:" * (size // 2) + "1",
    "base 60 with a fraction": lambda size: "a: " + "1:" * (size // 2) + "1.5",
    "digits": lambda size: "a: " + "1" * size,
    "hexadecimal": lambda size: "a: 0x" + "f" * size,
    "binary": lambda size: "a: 0b" + "1" * size,
    "a long text": lambda size: 'a: "' + "\\n" * (size // 2) + '"',
    "underscores": lambda size: "a: 1" + "_" * size,
    "tags": lambda size: "a: !" + "b" * size,
}

FORMS: Texts = {
    "fields": lambda size: "".join(f"Entry.{n}.{'a.' * 8}={n}&" for n in range(size // 28)),
    "entries of a batch": lambda size: (
        "".join(f"SendMessageBatchRequestEntry.{n}.Id={n}&" for n in range(min(size // 40, 9_999))) + "a" * (size // 2)
    ),
    "equal fields": lambda size: "A.1=1&" * min(size // 6, 9_999) + "B=" + "a" * size,
    "dots": lambda size: "a." * (size // 2) + "=1",
    "percents": lambda size: "A=" + "%41" * (size // 3),
    "open percents": lambda size: "%" * size,
    "separators": lambda size: "&" * size,
    "a long number": lambda size: f"MaxNumberOfMessages={'1' * size}",
    "base64": lambda size: f"MessageAttribute.1.Name=a&MessageAttribute.1.Value.BinaryValue={'YWFh' * (size // 4)}",
}
SIGNATURES: Texts = {
    "a credential": lambda size: "AWS4-HMAC-SHA256 Credential=" + "a/" * (size // 2),
    "credentials": lambda size: "AWS4-HMAC-SHA256 " + "Credential=a, " * (size // 14),
    "spaces": lambda size: "AWS4-HMAC-SHA256 " + " " * size + "Credential",
    "spaces behind a word": lambda size: "AWS4-HMAC-SHA256 Signature" + " " * size,
    "headers": lambda size: (
        "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/sqs/aws4_request, SignedHeaders="
        + "a;" * (size // 2)
        + "host, Signature="
        + "0" * 64
    ),
    "slashes": lambda size: "/" * size,
    "dots": lambda size: "/.." * (size // 3),
    "fields": lambda size: "a=1&" * (size // 4),
    "percents": lambda size: "%41" * (size // 3),
}
RECEIPTS: Texts = {
    "a long id": lambda size: "1." + "1" * size + "." + str(UUID(int=1)) + ".1",
    "a long count": lambda size: "1.1." + str(UUID(int=1)) + "." + "1" * size,
    "dots": lambda size: "1." * (size // 2),
}

LETTERS: Texts = {"letters": TEXTS["letters"]}
YAML_SIZES = (1_250, 10_000, 80_000)  # its reader, in Python, takes a second for a hundred thousand tokens


def read_json_and_send(text: str) -> None:
    """Parse and refuse a request with this body."""
    try:
        encoding.encode(read_json(text.encode()))
    except Exception as error:
        problem_of(error).response()


def read_message(text: str) -> None:
    read = sending.read_message(0, json.loads(text))
    if isinstance(read, Exception):
        problem_of(read).response()


def json_patch(text: str) -> None:
    patch = patching.read("merge", {"other": 1})
    assert patch is not None
    patch.apply(text, most_bytes=20_000_000)


def stream_of_frames(text: str) -> None:
    frames = Frames(lambda frame: None, lambda: None)
    packed = pack({"text": text}) * 2
    for start in range(0, len(packed), 65_536):
        frames.data_received(packed[start : start + 65_536])


def idempotency_key(text: str) -> None:
    request: Any = SimpleNamespace(META={"HTTP_IDEMPOTENCY_KEY": text}, method="POST", path="/", body=text.encode())
    idempotency._claim_of(request)


def celery_message(text: str) -> None:
    message = Message.from_json(
        {
            "id": 1,
            "receipt_handle": "h",
            "receive_count": 1,
            "payload": {"body": text, "properties": {}, "headers": {"eta": text, "task": text, "traceparent": text}},
            "attributes": {},
            "group_id": None,
            "priority": 0,
            "sent_at": "2026-01-01T00:00:00Z",
            "deadline": "2026-01-01T00:00:00Z",
            "lease_seconds": 1.0,
        }
    )
    headers = envelopes.opened(message)["headers"]
    envelopes.delay_of(headers)
    attributes.trace_id_of(envelopes.attributes_of(headers))


def alerts(text: str) -> None:
    receiving.read({"version": "4", "alerts": [{"labels": {"a": text}, "startsAt": text, "fingerprint": text}]})


def sqs_form(text: str) -> None:
    """Read a form by the input of every operation of the SQS endpoint. A request has one tree of fields."""
    tree = sqs_query._tree(sqs_query.fields_in("", text.encode()))
    for operation in OPERATIONS.values():
        with suppress(SqsError):
            sqs_query._structure(operation.input, tree)


def sqs_json(text: str) -> None:
    sqs_protocol.read_request(OPERATIONS["SendMessageBatch"].input, text.encode())


def aws_signature(text: str) -> None:
    """Read a signature in a header and in an address; bring the request into its canonical form."""
    dated = (("x-amz-date", "20260101T000000Z"), ("host", text))
    in_header = SignedRequest("POST", f"/{text}", text, (*dated, ("authorization", text)), b"")
    for request in (in_header, SignedRequest("POST", "/", f"X-Amz-Signature=a&{text}", dated, b"")):
        with suppress(SqsError):
            read_signature(request, SIGNED_AT)
        A_SIGNATURE.canonical(request)


def sqs_attribute(text: str) -> None:
    """Check an attribute of a message, and the attributes of a queue that are documents or numbers."""
    given = {"a": {"DataType": f"Number.{text}", "StringValue": text}, text: {"DataType": "String", "StringValue": "b"}}
    with suppress(SqsError):
        sqs_attributes.check(given)
    sqs_attributes.md5_of(given)
    for name in ("RedrivePolicy", "RedriveAllowPolicy", "VisibilityTimeout", "FifoThroughputLimit"):
        with suppress(SqsError):
            sqs_queue_attributes.checked({name: text}, is_fifo=True, at_creation=True)
    with suppress(SqsError):
        redrive_policies.read("RedrivePolicy", text)


SIGNED_AT = datetime(2026, 1, 1, tzinfo=UTC)
A_SIGNATURE = Signature("k", "20260101", "us-east-1", "sqs", ("host",), "0" * 64, SIGNED_AT, None)
OF_SQS: dict[str, tuple[Callable[[str], object], Texts]] = {
    "form": (sqs_form, FORMS),
    "signature": (aws_signature, SIGNATURES),
    "receipt handle": (read_receipt, RECEIPTS | TEXTS),
    "attribute": (sqs_attribute, TEXTS),
}

OF_JSON: dict[str, Callable[[str], object]] = {
    "body of a request": read_json_and_send,
    "message of a batch": read_message,
    "stored JSON": unreadable.decode,
    "argument of the command line": lambda text: command.as_json(text, "payload"),
    "field of a form": lambda text: JsonTextField().clean(text),
    "request of SQS": sqs_json,
    "merge patch": json_patch,
    "archived document": documents.asks(("a", None, "b"), [documents.there]),
    "erased document": lambda text: target.read("payload", "a[].b", "x").holds(text),
    "masked document": masks.Rules(payload=frozenset([("a", "b")])).mask_text,
    "Celery's body": lambda text: envelopes.packed(text, "application/json", readable=True),
    "Alertmanager's message": lambda text: receiving.read(json.loads(text)),
}
OF_TEXT: dict[str, Callable[[str], object]] = {
    "filter": parse_filter,
    "completion": lambda text: complete(text, len(text)),
    "terms of a list": lambda text: parse_terms(text, {"a": Key("")}, "a"),
    "path of a mask": masks.parse_path,
    "path of an erasure": lambda text: target.read("payload", text, "x").steps,
    "value of an erasure": lambda text: target.read("payload", "a", text).text,
    "receipt handle": lambda text: deliveries.own_handle(SimpleNamespace(queue_id=1, name="q"), text),  # type: ignore[arg-type]
    "message id": deliveries._MESSAGE_NAME.fullmatch,
    "cursor of messages": message_list._mark,
    "cursor of a peek": peeking._CURSORS[False].fullmatch,
    "cursor of queues": name_pages.name_in,
    "token of a list of SQS": sqs_configuring._name_in,
    "name of a job": lambda text: reach.number_of(text, "redrive_"),
    "traceparent": lambda text: attributes.trace_id_of({"traceparent": text}),
    "correlation id": lambda text: attributes.correlation_id_of({"correlation_id": text}),
    "trace context": lambda text: context.carried({"traceparent": text}, text),
    "API key": key.read_token,
    "bearer": lambda text: key.read_token(f"Bearer {text}"),
    "scopes of a key": keys._BETWEEN_SCOPES.split,
    "Idempotency-Key": idempotency_key,
    "sentence of a refusal": in_wire_words,
    "sentence about a field": lambda text: in_wire_words(f"payload {text}", "payload"),
    "refusal of a server": lambda text: problems.error_of({"type": text, "detail": text}, {}),
    "argument": lambda text: arguments.text("queue", text + "\x00"),
    "batch of arguments": lambda text: send_batch("q", [1], {"group_ids": [text], "trace_ids": [text]}),
    "name of Celery's queue": calls.engine_name,
    "Celery's headers": celery_message,
    "alert": alerts,
    "frames of a worker": stream_of_frames,
    "address of a request": lambda text: asgi._route_of(f"/v1/{text}"),
}


@pytest.mark.proof
@pytest.mark.parametrize("parser", OF_JSON)
def test_json(parser: str) -> None:
    assert_linear(OF_JSON[parser], JSONS)


@pytest.mark.proof
def test_a_request_of_ten_megabytes() -> None:
    assert_linear(read_json_and_send, {name: JSONS[name] for name in LONG_JSONS}, SIZES_OF_REQUESTS)


@pytest.mark.parametrize("parser", OF_TEXT)
def test_text(parser: str) -> None:
    assert_linear(OF_TEXT[parser], TEXTS)


@pytest.mark.parametrize("parser", OF_SQS)
def test_sqs(parser: str) -> None:
    assert_linear(*OF_SQS[parser])


@pytest.mark.proof
def test_yaml() -> None:
    assert_linear(as_code.parse, YAML_SCALARS)
    assert_linear(as_code.parse, YAMLS, YAML_SIZES)


@pytest.mark.proof
def test_what_counts_each_name_is_found_out() -> None:
    """Check of the measure itself."""

    def count_each(text: str) -> None:
        names = [name for name, _ in json.loads(text, object_pairs_hook=list)]
        for _ in range(2):
            next(name for name in names if names.count(name) > 1)

    with pytest.raises(AssertionError, match=r"a name twice: \d+,000 characters took \d+\.\d+ s"):
        assert_linear(count_each, {"a name twice": _names})


def test_runs_of_digits() -> None:
    """A run is read once, not once from each of its digits: a run has a limit, and so no growth shows it."""

    def runs_of(digits: int) -> Callable[[int], str]:
        return lambda size: ("1" * digits + " ") * (size // digits)

    short, long = (measure(encoding.encode, runs_of(digits)(2_000_000)) for digits in (9, MAX_DIGITS - 1))

    assert long <= max(3 * short, SHORTEST_SECONDS)


def test_the_lines_that_a_patch_changes() -> None:
    def difference(text: str) -> None:
        patching.difference(text, text.replace(",", "7,"))

    assert_linear(
        difference, {"other numbers": lambda size: json.dumps(list(range(1, size // 8)))}, (2_000, 16_000, 128_000)
    )


def test_a_long_body_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def read(content: bytes) -> object:
        threads.append(threading.current_thread())
        return read_json(content)

    monkeypatch.setattr(request_body, "read_json", read)
    for body, in_loop in ((b"[1]", True), (b"[%s]" % (b" " * 70_000), False), (b"[" * 70_000, False)):
        request: Any = SimpleNamespace(body=body)
        asyncio.run(request_body.read_ahead(request))
        try:
            request_body.StrictParser().parse_body(request)
        except Problem as problem:
            assert (problem.kind.slug, body[:2]) == ("unreadable-body", b"[[")
        assert (threads.pop() is threading.main_thread()) == in_loop
        assert not threads  # read once


def test_faults_of_a_request() -> None:
    def errors(text: str) -> None:
        invalid([{"loc": ("body", "message", f"f{n}"), "type": "missing", "msg": ""} for n in range(len(text) // 20)])

    assert_linear(errors, LETTERS)


def test_a_body_in_many_parts() -> None:
    def receive_in_parts(text: str) -> None:
        parts = iter([*[b"a" * 100] * (len(text) // 100), b""])

        async def receive() -> dict[str, Any]:
            part = next(parts)
            return {"type": "http.request", "body": part, "more_body": bool(part)}

        asyncio.run(read_body({b"content-type": b"application/json"}, receive))

    assert_linear(receive_in_parts, LETTERS)


def test_masked_values_in_attributes_that_are_like_all_of_them() -> None:
    """Maximum number of items, each longer than the one before, and one with another beginning."""

    def view(text: str) -> None:
        values = ["b", *("a" * (len(text) // 40) + f"{number}c" for number in range(400))]
        masks.scrub(text, frozenset(values))

    assert_linear(view, {"one character": lambda size: "a" * size}, (1_000, 8_000, 64_000))
