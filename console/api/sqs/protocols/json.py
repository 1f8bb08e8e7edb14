"""AWS JSON 1.0: the header X-Amz-Target names the operation; request and answer are JSON objects."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from console.api.core.request_body import read_json
from console.api.sqs.errors import SqsError
from console.api.sqs.protocols.answer import Answer
from console.api.sqs.protocols.shapes import Structure, read

TARGET = b"x-amz-target"
PREFIX = "AmazonSQS."
CONTENT_TYPE = "application/x-amz-json-1.0"


def operation_in(headers: Mapping[bytes, bytes]) -> str:
    """Return the name of the operation in the header X-Amz-Target."""
    return headers[TARGET].decode("latin-1").removeprefix(PREFIX)


def read_request(shape: Structure, body: bytes) -> dict[str, Any]:
    """Parse the body of a request; an empty one is an empty object."""
    return read(shape, read_json(body) if body.strip() else {}, "The request")


def write_answer(shape: Structure | None, values: Mapping[str, Any], request_id: str) -> Answer:
    """Return the answer of an operation; one without an output has no content."""
    content = b"" if shape is None else _encoded(values)
    return Answer(200, content, {"Content-Type": CONTENT_TYPE, "x-amzn-RequestId": request_id})


def write_error(error: SqsError, request_id: str) -> Answer:
    """Return an error: the shape in the body, and the code of the query protocol in a header."""
    kind = error.kind
    side = "Sender" if kind.is_of_sender else "Receiver"
    headers = {
        "Content-Type": CONTENT_TYPE,
        "x-amzn-RequestId": request_id,
        "x-amzn-query-error": f"{kind.code};{side}",
    }
    return Answer(kind.status, _encoded({"__type": f"com.amazonaws.sqs#{kind.shape}", "message": error.text}), headers)


def _encoded(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False, default=_base64).encode()


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
