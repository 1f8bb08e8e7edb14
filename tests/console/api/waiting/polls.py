"""Polls over sockets of their own, as many as one likes: the bytes of HTTP and nothing between."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.console.api.callers import Caller


@dataclass
class Poll:
    """One connection that asks for messages of a queue."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request: bytes

    def ask(self) -> None:
        self.writer.write(self.request)

    async def answer(self) -> tuple[int, Any]:
        """The status and the document of the next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        return int(head.split()[1]), json.loads(await self.reader.readexactly(length))

    async def messages(self) -> list[Any]:
        """Ask, and again as long as there was nothing: as a client does."""
        while True:
            self.ask()
            status, document = await self.answer()
            assert status == 200, document
            if document["messages"]:
                return list(document["messages"])

    def close(self) -> None:
        """Close the connection without a message, as a cut does."""
        self.writer.transport.abort()


async def connect(caller: Caller, queue: str, wait_seconds: float = 20, **wishes: Any) -> Poll:
    """A connection that has not asked yet."""
    place = urlsplit(caller.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    body = json.dumps({"waitSeconds": wait_seconds, **wishes})
    head = [
        f"POST /v1/queues/{queue}/messages:receive HTTP/1.1",
        f"host: {place.netloc}",
        f"authorization: Bearer {caller.key}",
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    return Poll(reader, writer, "\r\n".join([*head, "", body]).encode())
