"""The protocol between worker and child over a socket: JSON objects, each after its length in four bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, cast

_LENGTH_BYTES = 4


def pack(frame: Mapping[str, Any]) -> bytes:
    """Encode a frame as bytes: its length and its JSON text."""
    body = json.dumps(frame).encode()
    return len(body).to_bytes(_LENGTH_BYTES) + body


class Frames(asyncio.Protocol):
    """A protocol that calls `heard` with each frame, and `lost` when the other side is gone.

    A callback for each frame costs no turn of the event loop, unlike a stream; short handlers need these turns.
    """

    def __init__(self, heard: Callable[[dict[str, Any]], None], lost: Callable[[], None]) -> None:
        self._heard = heard
        self._lost = lost
        self._buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._buffer[:_LENGTH_BYTES])
            if len(self._buffer) < end:
                return
            body = self._buffer[_LENGTH_BYTES:end]
            del self._buffer[:end]
            self._heard(json.loads(body))

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()


def read_frame(link: BinaryIO) -> dict[str, Any] | None:
    """Wait for the next frame of a socket's buffered reader; None when the other side is gone."""
    try:
        head = link.read(_LENGTH_BYTES)
        length = int.from_bytes(head)
        body = link.read(length)
    except ConnectionError:
        return None
    if len(head) < _LENGTH_BYTES or len(body) < length:
        return None
    return cast("dict[str, Any]", json.loads(body))
