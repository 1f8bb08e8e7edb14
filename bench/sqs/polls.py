"""Polls that wait at one API: their cost while no message comes, and the time until all have their messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bench.over_http.load import BATCH
from bench.over_http.polling import room_for
from bench.over_http.serving import Endpoint
from bench.sqs.clients import Door

POLLS = 1_000
ALL_WAIT_SECONDS = 3.0


@dataclass(frozen=True)
class PollSample:
    """Polls that waited together, and got one message each."""

    polls: int
    messages_per_second: float
    p99_ms: float
    """From the first send until 99 of 100 polls had their messages."""
    server_megabytes: float
    kilobytes_each: float


async def wake_all(connect: Callable[[], Awaitable[Door]], endpoint: Endpoint, polls: int) -> PollSample:
    """Let many polls wait, then send one message for each as fast as one connection can."""
    room_for(2 * polls)
    sender = await connect()
    before = endpoint.process.memory_info().rss
    doors, waiting = [], []
    for _ in range(polls):
        doors.append(await connect())
        waiting.append(asyncio.create_task(_woken(doors[-1])))  # at once: servers close connections that do nothing
    await asyncio.sleep(ALL_WAIT_SECONDS)
    memory = endpoint.process.memory_info().rss
    began = time.perf_counter()
    for _ in range(-(-polls // BATCH)):
        await sender.send()
    moments = sorted(at - began for at in await asyncio.gather(*waiting))
    for door in (sender, *doors):
        door.close()
    return PollSample(
        polls=polls,
        messages_per_second=polls / moments[-1],
        p99_ms=_percentile(moments, 0.99) * 1_000,
        server_megabytes=memory / 1e6,
        kilobytes_each=(memory - before) / polls / 1_000,
    )


async def _woken(door: Door) -> float:
    if not await door.wait():
        raise RuntimeError("a waiting poll got no message")
    return time.perf_counter()


def _percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]
