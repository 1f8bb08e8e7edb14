"""The talk between worker and child over a socket: JSON objects, each after its length in four bytes."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any, cast

_LENGTH_BYTES = 4


def pack(frame: Mapping[str, Any]) -> bytes:
    """A frame as it goes over the wire."""
    body = json.dumps(frame).encode()
    return len(body).to_bytes(_LENGTH_BYTES) + body


async def read_frame(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next frame, or None when the other side is gone."""
    try:
        length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
        return cast("dict[str, Any]", json.loads(await reader.readexactly(length)))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def receive_frame(link: socket.socket) -> dict[str, Any] | None:
    """The next frame, or None when the other side is gone. Blocks."""
    if (head := _receive_exactly(link, _LENGTH_BYTES)) is None:
        return None
    body = _receive_exactly(link, int.from_bytes(head))
    return None if body is None else cast("dict[str, Any]", json.loads(body))


def _receive_exactly(link: socket.socket, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        try:
            piece = link.recv(min(length - len(data), 1 << 20))
        except ConnectionError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)
