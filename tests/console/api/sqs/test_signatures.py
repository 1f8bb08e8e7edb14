"""Signatures: AWS's published examples, and every way in which a request can be signed wrongly."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Key

from console.access.api_keys.models import ApiKey
from console.api.sqs.errors import SqsError
from console.api.sqs.signature import Request, Signature, read_signature
from tests.console.api.sqs.clients import REGION, Credentials

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"  # of AWS's examples
HOST, DATE = ("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")
AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
IAM = [
    ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
    ("host", "iam.amazonaws.com"),
    ("x-amz-date", "20150830T123600Z"),
]


@pytest.mark.parametrize(
    ("service", "method", "path", "query", "headers", "expected"),
    [
        ("service", "GET", "/", "", [HOST, DATE], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("service", "POST", "/", "", [HOST, DATE], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "service",
            "GET",
            "/",
            "Param2=value2&Param1=value1",
            [HOST, DATE],
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "service",
            "GET",
            "/.//example/..",
            "",
            [HOST, DATE],
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "service",
            "GET",
            "/",
            "",
            [HOST, ("my-header1", " value1 "), ("my-header2", '"a   b   c"'), DATE],
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
        (
            "iam",
            "GET",
            "/",
            "Action=ListUsers&Version=2010-05-08",
            IAM,
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        ),
    ],
)
def test_aws_publishes_these_signatures(
    service: str, method: str, path: str, query: str, headers: list[tuple[str, str]], expected: str
) -> None:
    request = Request(method, path, query, headers, b"")
    names = tuple(name for name, _ in headers)
    signature = Signature("AKIDEXAMPLE", "20150830", "us-east-1", service, names, expected, AT, None)

    assert signature.is_made_with(SECRET, request)
    assert not signature.is_made_with(SECRET.lower(), request)


HEADER = "AWS4-HMAC-SHA256 Credential=AKID/20150830/us-east-1/sqs/aws4_request, SignedHeaders={}, Signature=" + "a" * 64


@pytest.mark.parametrize(
    ("authorization", "shape"),
    [
        (None, "MissingAuthenticationTokenException"),
        ("Bearer sbx_a.b", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256 Credential=x", "IncompleteSignatureException"),
        (HEADER.format("host").replace("AKID/", ""), "IncompleteSignatureException"),
        (HEADER.format("host").replace("/sqs/", "/s3/"), "InvalidSignatureException"),
        (HEADER.format("host").replace("20150830/", "20150831/"), "InvalidSignatureException"),
        (HEADER.format("x-amz-date"), "InvalidSignatureException"),  # the host is not signed
        (HEADER.format("x-amz-date;host"), "InvalidSignatureException"),
        (HEADER.format("host") + "g", "InvalidSignatureException"),
    ],
)
def test_a_wrong_form_is_refused_before_any_secret_is_used(authorization: str | None, shape: str) -> None:
    headers = [HOST, DATE, *([("authorization", authorization)] if authorization else [])]
    with pytest.raises(SqsError) as raised:
        read_signature(Request("POST", "/", "", headers, b""), AT)

    assert raised.value.kind.shape == shape


@pytest.mark.parametrize("minutes", [-16, 16])
def test_a_signature_is_valid_for_a_quarter_of_an_hour(minutes: int) -> None:
    request = Request("POST", "/", "", [HOST, DATE, ("authorization", HEADER.format("host"))], b"")
    assert read_signature(request, AT + timedelta(minutes=14)).region == "us-east-1"
    with pytest.raises(SqsError, match=r"Signature (expired|not yet current)"):
        read_signature(request, AT + timedelta(minutes=minutes))


def signed(credentials: Credentials, how: Any, method: str, query: str, data: bytes = b"", **headers: str) -> Any:
    request = AWSRequest(method, f"{credentials.url}/?{query}", data=data, headers=headers)
    how(Key(credentials.access_key_id, credentials.secret), "sqs", REGION).add_auth(request)
    return request.prepare()


def answer(request: Any, body: bytes | None = None) -> tuple[int, str]:
    parts = urlsplit(request.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    headers = {name: value for name, value in request.headers.items() if name.lower() != "content-length"}
    connection.request(request.method, f"{parts.path}?{parts.query}", body or request.body or None, headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


def presigner(seconds: int) -> Callable[..., SigV4QueryAuth]:
    return lambda *arguments: SigV4QueryAuth(*arguments, expires=seconds)


def test_a_presigned_address_needs_nothing_else(credentials: Callable[..., Credentials]) -> None:
    own = credentials()
    request = signed(own, presigner(60), "GET", "Action=ListQueues&QueueNamePrefix=none%20of%2Fthese")
    status, text = answer(request)
    assert (status, "<ListQueuesResult></ListQueuesResult>" in text) == (200, True)
    request.url = request.url.replace("none", "all")
    assert "<Code>SignatureDoesNotMatch</Code>" in answer(request)[1]


def test_a_signature_covers_the_body_and_the_target(credentials: Callable[..., Credentials]) -> None:
    own, target = credentials(), {"X-Amz-Target": "AmazonSQS.ListQueues"}
    request = signed(own, SigV4Auth, "POST", "", b'{"QueueNamePrefix":"none"}', **target)
    assert answer(request) == (200, "{}")
    assert answer(request, b"{}")[0] == 403
    request.headers["X-Amz-Target"] = "AmazonSQS.PurgeQueue"
    assert "InvalidSignatureException" in answer(request)[1]


def test_keys_of_no_use_are_refused(credentials: Callable[..., Credentials]) -> None:
    own = credentials()
    for changed, code in (
        (Credentials(own.url, own.access_key_id, "x" * 43), "SignatureDoesNotMatch"),
        (Credentials(own.url, "unknown", own.secret), "InvalidClientTokenId"),
    ):
        status, text = answer(signed(changed, SigV4Auth, "POST", "Action=ListQueues"))
        assert (status, f"<Code>{code}</Code>" in text) == (403, True)
    ApiKey.objects.filter(identifier=own.access_key_id).update(sqs_secret=None)
    assert "<Code>InvalidClientTokenId</Code>" in answer(signed(own, SigV4Auth, "POST", "Action=ListQueues"))[1]


def test_scopes_and_limits_are_those_of_the_key(credentials: Callable[..., Credentials]) -> None:
    few = credentials("read", rate=0.001)
    request = signed(few, SigV4Auth, "POST", "Action=CreateQueue&QueueName=none")
    assert "<Code>AccessDenied</Code>" in answer(request)[1]
    request = signed(few, SigV4Auth, "POST", "Action=ListQueues&QueueNamePrefix=none")
    assert [answer(request)[0] for _ in range(2)] == [200, 400]
    assert "<Code>RequestThrottled</Code>" in answer(request)[1]
