"""The ASGI application of the SQS endpoint: requests are signed, and use one of the two protocols of SQS.

It runs beside the application of /v1 and has the same limits: bodies are bounded, keys are limited, and no request
holds a thread while it waits.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.conf import settings

from console.access.api_keys import Key, Unauthorized, authenticate_signer
from console.api.core.authentication import check_scope, within_limits
from console.api.core.disconnects import ClientGone
from console.api.core.request_body import read_parts
from console.api.sqs.accounts import PATH, queue_in
from console.api.sqs.call import Call
from console.api.sqs.errors import SqsError, sqs_error_of
from console.api.sqs.operations import OPERATIONS, Operation
from console.api.sqs.protocols import json, query
from console.api.sqs.protocols.answer import Answer
from console.api.sqs.signature import Request, Signature, read_signature
from metrics.reading.api_requests import API_REQUESTS, SQS_ERRORS

HEADERS_OF_ALL = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
UNKNOWN = "none"


def is_for(path: str) -> bool:
    """Return whether the SQS endpoint answers this address."""
    return path == PATH or path.startswith(f"{PATH}/")


async def application(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
    """Answer one request of the SQS endpoint."""
    exchange = Exchange(scope, receive)
    try:
        answer = await exchange.answer()
    except ClientGone:
        exchange.ends(None)
        return
    exchange.ends(answer.status)
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    headers.append((b"content-length", str(len(answer.content)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": [*headers, *HEADERS_OF_ALL]})
    await send({"type": "http.response.body", "body": answer.content})


@dataclass(frozen=True)
class Named:
    """The operation that a request names, and how its input is read."""

    name: str
    operation: Operation
    fields: Mapping[str, str] | None
    """The fields of a request of the query protocol; None for JSON."""


class Exchange:
    """One request, from its first byte to its answer."""

    def __init__(self, scope: Mapping[str, Any], receive: Any) -> None:
        self._scope = scope
        self._receive = receive
        self._began = time.perf_counter()
        self._headers = dict(scope["headers"])
        self._request_id = str(uuid.uuid4())
        self._is_json = json.TARGET in self._headers
        self._operation = UNKNOWN
        self._waits = ""

    async def answer(self) -> Answer:
        """Return the answer; every error is one of SQS's, in the protocol of the request."""
        try:
            return await self._answer()
        except ClientGone:
            raise
        except Exception as error:
            refused = sqs_error_of(error)
            SQS_ERRORS.count(self._operation, refused.kind.code)
            return self._refusal(refused)

    def ends(self, status: int | None) -> None:
        """Record the time and the status of the answer; None means that the client closed the connection."""
        outcome = "gone" if status is None else f"{status // 100}xx"
        route = f"SQS {self._operation}{self._waits}"
        API_REQUESTS.observe(route, outcome, time.perf_counter() - self._began)

    async def _answer(self) -> Answer:
        if settings.HTTPS_ONLY and self._scope.get("scheme") != "https":
            raise SqsError("InvalidSecurity")
        request = self._request(await read_parts(self._headers, self._receive))
        signature = read_signature(request, datetime.now(UTC))
        key = await _key_of(signature, request)
        named = self._named(request)
        self._operation = named.name
        await check_scope(key, named.operation.scope, changes=named.operation.changes)
        async with within_limits(key):
            call = self._call(named, key, signature, request)
            values = await named.operation.run(call) or {}
        for entry in values.get("Failed", ()):
            SQS_ERRORS.count(named.name, entry["Code"])
        return self._written(named, values)

    def _request(self, body: bytes) -> Request:
        scope = self._scope
        path = scope.get("raw_path") or scope["path"].encode()
        headers = [(name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in scope["headers"]]
        return Request(scope["method"], path.decode("latin-1"), scope["query_string"].decode("latin-1"), headers, body)

    def _named(self, request: Request) -> Named:
        fields = None if self._is_json else query.fields_in(request.query, request.body)
        name = json.operation_in(self._headers) if fields is None else fields.get("Action", "")
        operation = OPERATIONS.get(name)
        if operation is None:
            if not name:
                raise SqsError("MissingRequiredParameterException", name="Action")
            raise SqsError("UnknownOperationException", name=name[:100])
        return Named(name, operation, fields)

    def _call(self, named: Named, key: Key, signature: Signature, request: Request) -> Call:
        if named.fields is None:
            given = json.read_request(named.operation.input, request.body)
        else:
            given = query.read_request(named.operation.input, self._with_queue(named, request))
        return Call(
            operation=named.name,
            key=key,
            region=signature.region,
            base_url=self._base_url(),
            given=given,
            authenticate=partial(_key_of, signature, request),
            receive=self._receive,
            waits=self._note_wait,
            sender_id=signature.access_key_id,
            trace_header=request.header("x-amzn-trace-id") or "",
        )

    def _with_queue(self, named: Named, request: Request) -> Mapping[str, str]:
        """Return the fields of the query protocol, with QueueUrl from the address if the fields lack it."""
        fields = named.fields or {}
        if "QueueUrl" in fields or "QueueUrl" not in named.operation.input.members or not queue_in(request.raw_path):
            return fields
        return {**fields, "QueueUrl": request.raw_path}

    def _base_url(self) -> str:
        host = self._headers.get(b"host", b"localhost").decode("latin-1")
        under = PATH if is_for(self._scope["path"]) else ""
        return f"{self._scope.get('scheme', 'http')}://{host}{under}"

    def _written(self, named: Named, values: Mapping[str, Any]) -> Answer:
        output = named.operation.output
        if self._is_json:
            return json.write_answer(output, values, self._request_id)
        return query.write_answer(named.name, output, values, self._request_id)

    def _refusal(self, error: SqsError) -> Answer:
        return (json if self._is_json else query).write_error(error, self._request_id)

    def _note_wait(self) -> None:
        self._waits = " waiting"


def _client_of(request: Request) -> str:
    protocol = "query" if request.header("x-amz-target") is None else "JSON"
    return f"SQS {protocol}, {request.header('user-agent') or 'an unnamed client'}"


async def _key_of(signature: Signature, request: Request) -> Key:
    """Return the key whose secret made the signature. Raises `SqsError`."""
    try:
        key = await authenticate_signer(
            signature.access_key_id, lambda secret: signature.is_made_with(secret, request), _client_of(request)
        )
    except Unauthorized as error:
        raise SqsError("UnrecognizedClientException", _UNKNOWN_KEY) from error
    if key is None:
        raise SqsError("InvalidSignatureException")
    return key


_UNKNOWN_KEY = "The security token included in the request is invalid."
