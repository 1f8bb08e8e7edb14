"""Reading the body of a request, and no more of it than is allowed, whether its sender says how long it is or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from django.conf import settings

from console.api.leaving import ClientGone
from console.api.problems import Problem


async def read_body(
    headers: Mapping[bytes, bytes], receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
) -> bytes:
    """All of it. Raises the problems `payload-too-large` and `unsupported-media-type`, and ClientGone."""
    declared = headers.get(b"content-length", b"0")
    _check_size(int(declared) if declared.isdigit() else 0)
    parts, size, more = [], 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        part = event.get("body", b"")
        size += len(part)
        _check_size(size)
        parts.append(part)
        more = event.get("more_body", False)
    body = b"".join(parts)
    if body:
        _check_type(headers.get(b"content-type", b""))
    return body


def _check_size(size: int) -> None:
    if size > settings.API_MAX_BODY_BYTES:
        raise Problem(
            "payload-too-large",
            f"The body has more than the {settings.API_MAX_BODY_BYTES} bytes that one request may have.",
            limit=settings.API_MAX_BODY_BYTES,
        )


def _check_type(given: bytes) -> None:
    kind = given.partition(b";")[0].strip().lower()
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        named = given[:80].decode("latin-1") or "nothing"
        raise Problem("unsupported-media-type", f"The body is declared as {named!r}: send application/json.")
