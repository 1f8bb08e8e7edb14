"""Hostile requests in both protocols: always an error in SQS's form, and never 500."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth
from botocore.exceptions import ClientError

from tests.console.api.sqs.clients import Credentials
from tests.console.api.sqs.test_signatures import answer, signed

ACCOUNT = "http://127.0.0.1/sqs/000000000000"
ERROR = re.compile(
    r'<\?xml version="1\.0"\?><ErrorResponse xmlns="http://queue\.amazonaws\.com/doc/2012-11-05/"><Error>'
    r"<Type>(Sender|Receiver)</Type><Code>[A-Za-z.]+</Code><Message>[^<]*</Message><Detail/></Error>"
    r"<RequestId>[0-9a-f-]{36}</RequestId></ErrorResponse>"
)
XML_BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'

FORMS = [
    "",
    "Action=",
    "Action=Nothing",
    "Action=SendMessage",
    "Action=SendMessage&QueueUrl=none&MessageBody=x",
    f"Action=SendMessage&QueueUrl={ACCOUNT}/none&MessageBody=x",
    "Action=SendMessage&QueueUrl=http://[broken/000000000000/x&MessageBody=x",
    f"Action=SendMessage&QueueUrl={ACCOUNT}/%00&MessageBody=x",
    "Action=SendMessage&QueueUrl={url}&MessageBody=",
    "Action=SendMessage&QueueUrl={url}&MessageBody=%00",
    "Action=SendMessage&QueueUrl={url}&MessageBody=%FF",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&DelaySeconds=soon",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&DelaySeconds=99999999999999999999999",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&MessageAttribute.1.Name=a",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&MessageAttribute.1.Value.DataType=String",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&MessageAttribute.1=x&MessageAttribute.1.=y",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&MessageAttribute.01.Name=a&MessageAttribute.1.Name=b",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&MessageAttribute.999999999999.Name=a",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x" + "&MessageAttribute.1" + ".1" * 500 + "=x",
    "Action=SendMessage&QueueUrl={url}&MessageBody=x&MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=Binary",
    "Action=SendMessageBatch&QueueUrl={url}",
    "Action=SendMessageBatch&QueueUrl={url}&SendMessageBatchRequestEntry.1.Id=a",
    "Action=ReceiveMessage&QueueUrl={url}&MaxNumberOfMessages=11",
    "Action=ReceiveMessage&QueueUrl={url}&WaitTimeSeconds=-1",
    "Action=ReceiveMessage&QueueUrl={url}&AttributeName.1=%3Cscript%3E",
    "Action=DeleteMessage&QueueUrl={url}&ReceiptHandle=1.2.3",
    "Action=ChangeMessageVisibility&QueueUrl={url}&ReceiptHandle=x&VisibilityTimeout=1",
    "Action=SetQueueAttributes&QueueUrl={url}&Attribute.1.Name=Policy&Attribute.1.Value=%7B%7D",
    "Action=SetQueueAttributes&QueueUrl={url}&Attribute.1.Name=RedrivePolicy&Attribute.1.Value=" + "%5B" * 5_000,
    "Action=SetQueueAttributes&QueueUrl={url}&Attribute.1.Name=" + quote(XML_BOMB),
    "Action=CreateQueue&QueueName=" + quote(XML_BOMB),
    "Action=CreateQueue&QueueName=signalbox",
    "Action=ListQueues&NextToken=%00",
    "Action=ListQueues&MaxResults=0",
    "Action=GetQueueUrl&QueueName=%00",
    "Action=StartMessageMoveTask&SourceArn=arn:aws:sqs:x:000000000000:none",
    "Action=CancelMessageMoveTask&TaskHandle=bnVsbA==",
    XML_BOMB,
]


@pytest.fixture
def own(credentials: Callable[..., Credentials]) -> Credentials:
    return credentials()


@pytest.fixture
def url(own: Credentials, json_sqs: Any, new_name: Callable[..., str]) -> str:
    return json_sqs.create_queue(QueueName=new_name())["QueueUrl"]


def test_forms(own: Credentials, url: str) -> None:
    for form in FORMS:
        request = signed(own, SigV4Auth, "POST", "", form.replace("{url}", quote(url)).encode())
        status, text = answer(request)
        assert 400 <= status < 500, (form[:200], text)
        assert ERROR.fullmatch(text), (form[:200], text)


DOCUMENTS: list[tuple[str, Any]] = [
    ("Nothing", {}),
    ("SendMessage", {}),
    ("SendMessage", []),
    ("SendMessage", {"QueueUrl": None, "MessageBody": "x"}),
    ("SendMessage", {"QueueUrl": 7, "MessageBody": "x"}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": {"a": 1}}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "\ud800"}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x\x00"}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x", "DelaySeconds": 1.5}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x", "DelaySeconds": 10**30}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x", "MessageAttributes": []}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x", "MessageAttributes": {"a": {}}}),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x", "MessageAttributes": {"": {"DataType": "String"}}}),
    (
        "SendMessage",
        {
            "QueueUrl": "{url}",
            "MessageBody": "x",
            "MessageAttributes": {"a": {"DataType": "Binary", "BinaryValue": "*"}},
        },
    ),
    (
        "SendMessage",
        {
            "QueueUrl": "{url}",
            "MessageBody": "x",
            "MessageAttributes": {"a": {"DataType": "String", "StringValue": "x" * 20_000}},
        },
    ),
    (
        "SendMessage",
        {
            "QueueUrl": "{url}",
            "MessageBody": "x",
            "MessageSystemAttributes": {"a": {"DataType": "String", "StringValue": "x"}},
        },
    ),
    ("SendMessage", {"QueueUrl": "{url}", "MessageBody": "x" * 1_100_000}),
    ("SendMessageBatch", {"QueueUrl": "{url}", "Entries": []}),
    ("SendMessageBatch", {"QueueUrl": "{url}", "Entries": [7]}),
    ("ReceiveMessage", {"QueueUrl": "{url}", "AttributeNames": "All"}),
    ("ReceiveMessage", {"QueueUrl": "{url}", "VisibilityTimeout": True}),
    ("CreateQueue", {"QueueName": "x", "Attributes": {"VisibilityTimeout": 30}}),
    ("CreateQueue", {"QueueName": "x", "Attributes": {"RedriveAllowPolicy": "[]"}}),
    ("CreateQueue", {"QueueName": "x", "tags": {"a": None}}),
    ("TagQueue", {"QueueUrl": "{url}", "Tags": {}}),
    ("TagQueue", {"QueueUrl": "{url}", "Tags": {"a\x00": "x"}}),
    ("TagQueue", {"QueueUrl": "{url}", "Tags": {"\ud800": "x"}}),
    ("SetQueueAttributes", {"QueueUrl": "{url}", "Attributes": {"\ud800": "x"}}),
    ("TagQueue", {"QueueUrl": "{url}", "Tags": {str(number): "x" for number in range(51)}}),
    ("CancelMessageMoveTask", {"TaskHandle": "eyJ0YXNrSWQiOjF9"}),
]
TEXTS = [b"{", b"[" * 100_000, b"\xff", b'{"a":NaN}', b'{"QueueUrl":"a","QueueUrl":"b"}', b"1" * 5_000]


def test_documents(own: Credentials, url: str) -> None:
    given = [(name, json.dumps(document).replace("{url}", url).encode()) for name, document in DOCUMENTS]
    for name, body in [*given, *(("SendMessage", text) for text in TEXTS)]:
        request = signed(own, SigV4Auth, "POST", "", body, **{"X-Amz-Target": f"AmazonSQS.{name}"})
        status, text = answer(request)
        assert 400 <= status < 500, (name, body[:200], text)
        error = json.loads(text)
        assert (error["__type"].startswith("com.amazonaws.sqs#"), bool(error["message"])) == (True, True)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("SendMessage", {"MessageBody": "x" * 300_000}, "InvalidParameterValue"),
    ("SetQueueAttributes", {"Attributes": {"Colour": "red"}}, "InvalidAttributeName"),
    ("ReceiveMessage", {"AttributeNames": ["Colour"]}, "InvalidAttributeName"),
]


def test_limits_are_named_alike_in_both_protocols(sqs: Any, new_name: Callable[..., str]) -> None:
    url = sqs.create_queue(QueueName=new_name(), Attributes={"MaximumMessageSize": "262144"})["QueueUrl"]
    for operation, given, code in REFUSED:
        with pytest.raises(ClientError) as raised:
            sqs._make_api_call(operation, {"QueueUrl": url, **given})
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert raised.value.response["Error"]["Code"].endswith(code), operation


@pytest.mark.parametrize("target", [{}, {"X-Amz-Target": "AmazonSQS.ListQueues"}])
def test_requests_without_a_valid_signature(own: Credentials, target: dict[str, str]) -> None:
    request = signed(own, SigV4Auth, "POST", "", b"{}" if target else b"Action=ListQueues", **target)
    old, authorization = dict(request.headers), request.headers["Authorization"]
    for headers, code in (
        ({"Authorization": None}, "MissingAuthenticationToken"),
        ({"Authorization": "AWS4-HMAC-SHA256 nothing"}, "IncompleteSignature"),
        ({"Authorization": authorization[:-8] + "0" * 8}, "InvalidSignature" if target else "SignatureDoesNotMatch"),
        ({"X-Amz-Date": "20150830T123600Z"}, "InvalidSignature" if target else "SignatureDoesNotMatch"),
    ):
        changed = {name: value for name, value in {**old, **headers}.items() if value is not None}
        status, text = answer(SimpleNamespace(url=request.url, method="POST", body=request.body, headers=changed))
        assert 400 <= status < 500
        assert code in text, (code, text)
