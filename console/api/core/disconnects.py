"""Detection of clients that have gone: then no request waits for them, and no message is leased to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ClientGone(Exception):  # noqa: N818 - it is what happened
    """The client that waited for the answer has gone."""


async def unless_gone(request: Any, waiting: Coroutine[Any, Any, T], undo: Callable[[T], None]) -> T:
    """Return what `waiting` gives. Cancels it and raises ClientGone when the connection is closed before.

    Where it had given something at that very moment, or the caller here is cancelled, `undo` gets that.
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
