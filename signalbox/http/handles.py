"""Receipt handles over HTTP: the server's own, after the name of the queue in whose address it is to be given back.

The database finds a lease by its handle alone; the address of a settlement over HTTP names the queue too, since keys
are for queues. Names of queues have no slash.
"""

from __future__ import annotations

from collections.abc import Sequence

from signalbox.errors import InvalidArgument

#: Handles in one request, at most.
MAX_HANDLES = 1000


def with_queue(queue: str, handle: str) -> str:
    """The handle as this client gives it out."""
    return f"{queue}/{handle}"


def apart(receipt_handle: str) -> tuple[str, str]:
    """The queue and the handle as the server knows it. Raises InvalidArgument."""
    queue, slash, handle = receipt_handle.partition("/")
    if not (queue and slash and handle):
        raise InvalidArgument(
            f"receipt_handle {receipt_handle[:120]!r} was not given out over HTTP: it names no queue",
            field="receipt_handle",
        )
    return queue, handle


def by_queue(receipt_handles: Sequence[str]) -> list[tuple[str, dict[int, str]]]:
    """The server's handles for each queue, by their places among those given; at most so many as one request takes."""
    queues: dict[str, dict[int, str]] = {}
    for place, receipt_handle in enumerate(receipt_handles):
        queue, handle = apart(receipt_handle)
        queues.setdefault(queue, {})[place] = handle
    return [(queue, dict(part)) for queue, places in queues.items() for part in _parts(list(places.items()))]


def _parts(places: list[tuple[int, str]]) -> list[list[tuple[int, str]]]:
    return [places[begin : begin + MAX_HANDLES] for begin in range(0, len(places), MAX_HANDLES)]
