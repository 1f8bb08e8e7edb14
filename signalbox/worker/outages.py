"""Repetition of a worker's calls while the database is unavailable, until it answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import psycopg

from signalbox.connections.reconnect import Backoff
from signalbox.logs import in_brief

T = TypeVar("T")

#: Seconds after which a call without an answer counts as failed: its connection is closed and the call repeated.
CALL_SECONDS = 30.0

logger = logging.getLogger(__name__)


async def persist(
    action: str, call: Callable[[], Awaitable[T]], unless: asyncio.Event | None = None, longest_pause: float = 10.0
) -> T | None:
    """Repeat `call` until it returns, and return its result; None once `unless` is set.

    Only for calls that may be repeated when their answer was lost, such as settlements by receipt handle.
    Refusals (SignalboxError) are raised: repeating them would not help.
    """
    backoff = Backoff(first=0.2, longest=longest_pause)
    unless = unless or asyncio.Event()
    failures = 0
    while True:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                result = await call()
        except (psycopg.Error, OSError) as error:  # TimeoutError is an OSError
            failures += 1
            level = logging.DEBUG if failures & (failures - 1) else logging.WARNING  # 1, 2, 4, 8, ... are warnings
            logger.log(level, "Could not %s (attempt %d): %s", action, failures, in_brief(error))
            if await happens(unless, within=backoff.pause()):
                return None
        else:
            if failures:
                logger.info("Could %s again after %d failures", action, failures)
            return result


async def happens(event: asyncio.Event, within: float | None) -> bool:
    """Wait for the event, at most `within` seconds (None: for ever); True when it is set."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), within)
    return event.is_set()
