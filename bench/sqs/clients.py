"""Clients of both APIs that need little CPU: raw bytes over sockets that stay open, with signatures for SQS."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from bench.over_http.load import BATCH, BODY, Line, connect
from bench.over_http.serving import Endpoint

REGION = "us-east-1"
WAIT_SECONDS = 20
SIGNED = "host;x-amz-date;x-amz-target"


class Door(Protocol):
    """One connection to a server; every request is timed."""

    seconds: list[float]

    async def send(self) -> None:
        """Send one batch of messages."""

    async def drain(self) -> int:
        """Receive one batch and delete it; return how many messages it had."""

    async def wait(self) -> bool:
        """Wait for a message; return whether one came."""

    def close(self) -> None:
        """Close the connection to the server."""


@dataclass
class ApiDoor:
    """A connection to the HTTP API."""

    line: Line
    path: str
    seconds: list[float] = field(default_factory=list)

    async def send(self) -> None:
        messages = [{"clientMessageId": str(number), "body": BODY} for number in range(BATCH)]
        await self._ask(":batch", {"messages": messages})

    async def drain(self) -> int:
        found = (await self._ask(":receive", {"maxMessages": BATCH}))["messages"]
        if found:
            await self._ask(":ack", {"receiptHandles": [message["receiptHandle"] for message in found]})
        return len(found)

    async def wait(self) -> bool:
        return bool((await self._ask(":receive", {"waitSeconds": WAIT_SECONDS}))["messages"])

    def close(self) -> None:
        self.line.writer.close()

    async def _ask(self, verb: str, document: Any) -> Any:
        began = time.perf_counter()
        answer = await self.line.ask(self.path + verb, document)
        self.seconds.append(time.perf_counter() - began)
        return answer


@dataclass
class SqsDoor:
    """A connection to an SQS endpoint in the JSON protocol; a new one for each request of a server that closes it."""

    line: Line
    endpoint: Endpoint
    path: str
    key: str
    secret: str
    url: str = ""
    keeps: bool = True
    seconds: list[float] = field(default_factory=list)

    async def open(self, name: str) -> None:
        """Create the queue unless it exists, and use it."""
        self.url = (await self.ask("CreateQueue", {"QueueName": name}))["QueueUrl"]

    async def send(self) -> None:
        entries = [{"Id": str(number), "MessageBody": json.dumps(BODY)} for number in range(BATCH)]
        await self._timed("SendMessageBatch", {"QueueUrl": self.url, "Entries": entries})

    async def drain(self) -> int:
        answer = await self._timed("ReceiveMessage", {"QueueUrl": self.url, "MaxNumberOfMessages": BATCH})
        found = answer.get("Messages", [])
        if found:
            entries = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(found)]
            await self._timed("DeleteMessageBatch", {"QueueUrl": self.url, "Entries": entries})
        return len(found)

    async def wait(self) -> bool:
        answer = await self.ask("ReceiveMessage", {"QueueUrl": self.url, "WaitTimeSeconds": WAIT_SECONDS})
        return bool(answer.get("Messages"))

    def close(self) -> None:
        self.line.writer.close()

    async def ask(self, operation: str, document: Any) -> Any:
        """Send one signed request and read the answer."""
        body, target = json.dumps(document).encode(), f"AmazonSQS.{operation}"
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        if not self.keeps:
            self.line = await connect(self.endpoint)
        head = (
            f"POST {self.path} HTTP/1.1\r\nhost: {self._host}\r\nx-amz-date: {at}\r\nx-amz-target: {target}\r\n"
            f"authorization: {self._authorization(at, target, body)}\r\ncontent-type: application/x-amz-json-1.0\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self.line.writer.write(head.encode() + body)
        answer = await self.line.answer()
        if not self.keeps:
            self.line.writer.close()
        return answer

    @property
    def _host(self) -> str:
        return f"127.0.0.1:{self.endpoint.port}"

    async def _timed(self, operation: str, document: Any) -> Any:
        began = time.perf_counter()
        answer = await self.ask(operation, document)
        self.seconds.append(time.perf_counter() - began)
        return answer

    def _authorization(self, at: str, target: str, body: bytes) -> str:
        headers = f"host:{self._host}\nx-amz-date:{at}\nx-amz-target:{target}\n"
        request = f"POST\n{self.path}\n\n{headers}\n{SIGNED}\n{hashlib.sha256(body).hexdigest()}"
        scope = f"{at[:8]}/{REGION}/sqs/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{self.secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={SIGNED}, Signature={signature}"


async def api_door(endpoint: Endpoint, queue: str) -> ApiDoor:
    """Connect to the HTTP API."""
    return ApiDoor(await connect(endpoint), f"/v1/queues/{queue}/messages")


async def sqs_door(endpoint: Endpoint, path: str, *, keeps: bool = True) -> SqsDoor:
    """Connect to an SQS endpoint below this path."""
    key, _, secret = (endpoint.key or "sbx_any.any").removeprefix("sbx_").partition(".")
    return SqsDoor(await connect(endpoint), endpoint, path, key, secret, keeps=keeps)
