"""Detection of clients that close the connection, so that no request waits and no message is leased for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ClientGone(Exception):  # noqa: N818 - it is what happened
    """The client closed the connection before its answer was ready."""


async def unless_gone(request: Any, waiting: Coroutine[Any, Any, T], undo: Callable[[T], None]) -> T:
    """Return the result of `waiting`.

    Cancels `waiting` and raises ClientGone if the client closes the connection first. If a result exists when that
    happens, or when the caller is cancelled, `undo` is called with the result.
    """
    work = asyncio.ensure_future(waiting)
    watch = asyncio.ensure_future(_gone(request))
    taken = False
    try:
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        if watch.done():
            raise ClientGone
        taken = True
        return work.result()
    finally:
        for task in (work, watch):
            task.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)
        if not taken and not work.cancelled() and work.exception() is None:
            undo(work.result())


async def _gone(request: Any) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
