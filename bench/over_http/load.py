"""Clients that need little CPU: raw bytes over sockets that stay open."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from bench.over_http.serving import Endpoint

#: Number of connections that keep two cores busy.
CONNECTIONS = 8
BATCH = 10
BODY = {"order": 4711, "lines": [{"sku": "A-1", "count": 2}, {"sku": "B-7", "count": 1}], "note": "x" * 100}


@dataclass
class Line:
    """One connection that sends a request and reads the answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str

    async def ask(self, path: str, document: Any = None) -> Any:
        content = b"" if document is None else json.dumps(document).encode()
        kind = f"content-type: application/json\r\ncontent-length: {len(content)}" if content else "content-length: 0"
        self.writer.write(f"POST {path} HTTP/1.1\r\n{self.head}\r\n{kind}\r\n\r\n".encode() + content)
        return await self.answer()

    async def answer(self) -> Any:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        status = int(head.split(" ", 2)[1])
        length = int(head.partition("content-length:")[2].partition("\r\n")[0]) if "content-length:" in head else 0
        content = await self.reader.readexactly(length)
        if status >= 300:
            raise RuntimeError(f"{status}: {content[:300]!r}")
        return json.loads(content) if content else None


async def connect(endpoint: Endpoint) -> Line:
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    key = f"\r\nauthorization: Bearer {endpoint.key}" if endpoint.key else ""
    return Line(reader, writer, f"host: 127.0.0.1:{endpoint.port}{key}")


@dataclass(frozen=True)
class Work:
    """A kind of work: each connection does it for its share of messages, with `requests` for each message or batch."""

    name: str
    batch: int
    requests: int
    drains: bool

    async def do(self, line: Line, path: str, messages: int) -> None:
        """Do the work for this number of messages over one connection."""
        for _ in range(messages // self.batch):
            await (self._drain(line, path) if self.drains else self._send(line, path))

    async def _send(self, line: Line, path: str) -> None:
        if self.batch == 1:
            await line.ask(path, {"body": BODY})
        else:
            many = [{"clientMessageId": str(number), "body": BODY} for number in range(self.batch)]
            await line.ask(f"{path}:batch", {"messages": many})

    async def _drain(self, line: Line, path: str) -> None:
        handles: list[str] = []
        while not handles:  # messages in flight elsewhere are skipped
            found = (await line.ask(f"{path}:receive", {"maxMessages": self.batch}))["messages"]
            handles = [message["receiptHandle"] for message in found]
        if self.batch == 1:
            await line.ask(f"{path}/{handles[0]}:ack")
        else:
            await line.ask(f"{path}:ack", {"receiptHandles": handles})


WORKS = (
    Work("send", 1, 1, drains=False),
    Work(f"send {BATCH}", BATCH, 1, drains=False),
    Work("receive, ack", 1, 2, drains=True),
    Work(f"receive {BATCH}, ack", BATCH, 2, drains=True),
)


async def run(endpoint: Endpoint, work: Work, queue: str, messages: int) -> None:
    """Run all connections together, each with its share."""
    lines = [await connect(endpoint) for _ in range(CONNECTIONS)]
    path = f"/v1/queues/{queue}/messages"
    await asyncio.gather(*(work.do(line, path, messages // CONNECTIONS) for line in lines))
    for line in lines:
        line.writer.close()
