"""Every operation with hostile values in any of its members, in both protocols: AWS's answers, and never 500."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from botocore.auth import SigV4Auth
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.api.sqs.messages.receiving import SYSTEM_NAMES
from console.api.sqs.operations import OPERATIONS
from console.api.sqs.protocols.shapes import BOOLEAN, BYTES, INTEGER, TEXT, ListOf, MapOf, Structure
from console.api.sqs.queues.attributes import KNOWN
from tests.console.api.sqs.clients import Credentials, client
from tests.console.api.sqs.test_hostile_requests import ERROR
from tests.console.api.sqs.test_signatures import answer, signed
from tests.proof.sqs.conftest import Endpoint
from tests.tiers import examples

pytestmark = [pytest.mark.proof, pytest.mark.usefixtures("commits"), pytest.mark.property]

numbers = st.sampled_from([-(10**30), -1, 0, 21, 30, 2**31, 2**63 - 1, 2**63, 10**30])
"""None of them is a time that a receive would wait."""
texts = st.sampled_from(
    ["", "x", "\x00", "\ud800", "\U0001f4a9", "../..", "%00", "</Message>", "All", "a.*", "1.2.3", "x" * 3_000]
) | st.text(max_size=20)
anything = st.none() | st.booleans() | numbers | st.just(1.5) | texts | st.lists(texts) | st.dictionaries(texts, texts)
values = st.sampled_from(["0", "30", "true", "99999999999999999999", "[]", '{"maxReceiveCount":1e400}', "{" * 1_000])
scalars = {TEXT: texts | values, INTEGER: numbers, BOOLEAN: st.booleans(), BYTES: st.sampled_from(["", "eA==", "*"])}
keys = st.sampled_from([*KNOWN, *sorted(SYSTEM_NAMES), "a", "sqs", "AWS.a"]) | texts


class Hostile:
    """Requests of every operation whose members have the right type and hostile values; some have another type."""

    def __init__(self, own: Credentials) -> None:
        self.own, self.sqs = own, client(own)
        url = self.sqs.create_queue(QueueName="hostile")["QueueUrl"]
        self.sqs.send_message(QueueUrl=url, MessageBody="x")
        handle = self.sqs.receive_message(QueueUrl=url)["Messages"][0]["ReceiptHandle"]
        arns = st.sampled_from(["arn:aws:sqs:us-east-1:000000000000:hostile", "arn:aws:sqs:x:999999999999:hostile"])
        task = b64encode(b'{"taskId":"redrive-999999999999999999","sourceArn":[]}').decode()
        self.known = {
            "QueueUrl": st.just(url),
            "QueueName": st.just("hostile") | texts,
            "SourceArn": arns,
            "DestinationArn": arns | texts,
            "Id": st.sampled_from(["a", "b", "c", ""]),
            "ReceiptHandle": st.sampled_from([handle, f"{handle}9", f"9{handle}", handle.replace(".", ".9" * 12, 1)]),
            "TaskHandle": st.just(task) | texts,
            "DataType": st.sampled_from(["String", "Number", "Binary", "Number.x", "x"]),
        }

    def members(self, shape: Structure) -> st.SearchStrategy[dict[str, Any]]:
        parts = {name: self.value(name, member) for name, member in shape.members.items()}
        required = {name: parts.pop(name) for name in shape.required}
        return st.fixed_dictionaries(required, optional=parts)

    def value(self, name: str, shape: Any) -> st.SearchStrategy[Any]:
        if isinstance(shape, Structure):
            return self.members(shape)
        if isinstance(shape, ListOf):
            return st.lists(self.value(name, shape.member), max_size=3)
        if isinstance(shape, MapOf):
            return st.dictionaries(keys, self.value(name, shape.value), max_size=3)
        return self.known.get(name, scalars[shape])

    def spoiled(self, shape: Structure) -> st.SearchStrategy[dict[str, Any]]:
        """Members of which some have another type."""
        return st.tuples(
            self.members(shape), st.dictionaries(st.sampled_from([*shape.members, "x"]), anything, max_size=2)
        ).map(lambda pair: pair[0] | pair[1])

    def answer(self, name: str, body: bytes, **headers: str) -> tuple[int, str]:
        status, text = answer(signed(self.own, SigV4Auth, "POST", "", body, **headers))
        if (name, status) == ("DeleteQueue", 200):
            self.sqs.create_queue(QueueName="hostile")
        assert "RequestThrottled" not in text
        return status, text


@pytest.fixture
def hostile(endpoint: Endpoint, request: pytest.FixtureRequest) -> Hostile:
    return Hostile(endpoint.credentials(request.node.name))


operations = st.sampled_from(sorted(OPERATIONS))
many = settings(
    max_examples=examples(600),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@many
@given(data=st.data(), name=operations)
def test_documents(hostile: Hostile, data: st.DataObject, name: str) -> None:
    shape = OPERATIONS[name].input
    document = data.draw(hostile.members(shape) | hostile.members(shape) | hostile.spoiled(shape) | anything)
    target = {"X-Amz-Target": f"AmazonSQS.{name}"}
    status, text = hostile.answer(name, json.dumps(document).encode(), **target)
    if status == 200:
        assert isinstance(json.loads(text or "{}"), dict)
        return
    assert 400 <= status < 500, text
    error = json.loads(text)
    assert error["__type"].startswith("com.amazonaws.sqs#")
    assert error["message"]


@many
@given(data=st.data(), name=operations)
def test_forms(hostile: Hostile, data: st.DataObject, name: str) -> None:
    shape = OPERATIONS[name].input
    drawn = data.draw(hostile.members(shape) | hostile.members(shape) | hostile.spoiled(shape))
    fields = {"Action": name} | dict(_fields("", shape, drawn))
    body = urlencode(fields, errors="surrogatepass").encode()
    status, text = hostile.answer(name, body)
    if status == 200:
        assert text.startswith(f'<?xml version="1.0"?><{name}Response ')
        return
    assert 400 <= status < 500, text
    assert ERROR.fullmatch(text)


def _fields(prefix: str, shape: Any, value: Any) -> Any:
    """Yield the fields of a value as the query protocol numbers them; a value of another form is one field."""
    if isinstance(shape, Structure) and isinstance(value, Mapping):
        for name, one in value.items():
            member = shape.members.get(name)
            entry = member.entry if isinstance(member, ListOf | MapOf) else name
            yield from _fields(f"{prefix}.{entry}" if prefix else entry, member, one)
    elif isinstance(shape, ListOf) and isinstance(value, list):
        for number, one in enumerate(value):
            yield from _fields(f"{prefix}.{number}", shape.member, one)
    elif isinstance(shape, MapOf) and isinstance(value, Mapping):
        for number, (key, one) in enumerate(value.items()):
            yield f"{prefix}.{number}.{shape.key_word}", key
            yield from _fields(f"{prefix}.{number}.{shape.value_word}", shape.value, one)
    else:
        yield prefix, value if isinstance(value, str) else json.dumps(value)
